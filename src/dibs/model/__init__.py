"""What is true: values and decisions. No clock, no await, no store."""
