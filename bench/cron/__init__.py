"""Jobs by the clock: ours beside those of others, each in processes and on a server of their own."""
