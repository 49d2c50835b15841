"""One program for each system: a process of it that runs what the plan says, until it is told to end."""
