"""How people control jobs: what they may do, and what they may say of schedules."""
