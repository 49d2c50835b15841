"""What the flows need from outside: stores that word questions, and a world that gets them answered."""
