"""Two cron jobs of a chain of stores, which run on several servers, and each on one of them at a time."""
