"""A test of the tests: each of these bugs, planted where several servers decide, is found within 2,000 worlds."""

from __future__ import annotations

import pytest

from tests.simulation.plants import Plant

PLANTS = [
    Plant(
        "one phase: the highest fence of a majority is taken, and nobody counts from it",
        "dibs.stores.quorum.election",
        (("if is_settled(fences.values(), fence, council.need):", "if fence:"),),
        first=1_000,
    ),
    Plant(
        "no margin for clocks that run at different rates",
        "dibs.model.tenure",
        (("MARGIN = 0.1", "MARGIN = 0.0"),),
        {"ttl": 4.0, "lost": 0.1, "drift": 0.04},
    ),
    Plant(
        "a server that has forgotten all votes at once",
        "dibs.testing.simulation.quorum.node",
        (
            (
                "        if self.longest is None:\n            return Absent.NEW, ()\n",
                "        self.longest = self.longest or 0.0\n",
            ),
        ),
    ),
    Plant(
        "a server that has forgotten all is not silent before it counts again",
        "dibs.model.quorum",
        (("Christening(counter, longest, longest)", "Christening(counter, 0.0, longest)"),),
    ),
    Plant(
        "a majority is enough for a permit",
        "dibs.model.quorum",
        (("return majority(size) if room >= CROWD else size * room // (room + 1) + 1", "return majority(size)"),),
    ),
    Plant(
        "a lease is renewed if any server keeps it",
        "dibs.model.quorum",
        (("    if keeps >= need:\n", "    if keeps:\n"),),
    ),
    Plant(
        "a minority decides",
        "dibs.model.quorum",
        (("return size // 2 + 1", "return size // 2"),),
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.idea)
def test_a_bug_planted_in_a_quorum_is_found(plant: Plant) -> None:
    assert plant.is_caught("quorum")
