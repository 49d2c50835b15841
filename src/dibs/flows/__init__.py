"""How it is done: short coroutines over a `World`, the same for threads, tasks and the simulator."""
