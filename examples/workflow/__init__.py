"""Orders as workflows whose steps fail, hang and crash, on three pods: what Redisson's locks coordinate elsewhere."""
