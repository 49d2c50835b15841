"""What it costs: `python -m bench` prints one table, each figure beside the floor it should be judged by."""
