"""What people and pages can ask: about runs, nodes, what is to come, who held what, and why."""
