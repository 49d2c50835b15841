"""For people who write a store or want to attack one: the conformance suite, the simulator, an outage at will."""
