"""What stands behind a job: what may be said of it, which functions can be its body, and how it is called for a run."""
