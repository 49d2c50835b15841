"""What is done with the value, and under which lock."""
