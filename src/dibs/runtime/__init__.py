"""Who runs it: the only room with threads, tasks and clocks of its own."""
