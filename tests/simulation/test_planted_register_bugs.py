"""A test of the tests: each of these bugs, planted where a majority sets a sheet, is found within 2,000 worlds."""

from __future__ import annotations

import pytest

from tests.simulation.plants import Plant

MODEL, SETTING, SERVER = "dibs.model.register", "dibs.stores.quorum.setting", "dibs.testing.simulation.quorum.cells"

PLANTS = [
    Plant(
        "a server accepts what it is told without having promised itself to that one",
        MODEL,
        (("if rank.number <= floor or rank != cell.promised:", "if rank.number <= floor:"),),
    ),
    Plant(
        "a promise is given to whoever asks",
        MODEL,
        (("if rank.number <= floor or rank < cell.promised:", "if rank.number <= floor:"),),
    ),
    Plant(
        "a change is made from what any server has",
        MODEL,
        (("return max(cells, key=lambda cell: cell.rank)", "return cells[0]"),),
    ),
    Plant(
        "one server is enough for a look",
        MODEL,
        (("if times[cell.rank, True] >= need), None)", "if times[cell.rank, True]), None)"),),
    ),
    Plant(
        "what was found is not settled before it is told",
        SETTING,
        (
            (
                "need:\n                self._prepare()\n",
                "need:\n                self._end(standing(self._name, highest(cells).kept, self._time()))\n",
            ),
        ),
    ),
    Plant(
        "who is beaten takes its change for refused",
        SETTING,
        (
            (
                "elif heeded + self.out < self.council.need:\n            self._try_again()",
                "elif heeded + self.out < self.council.need:\n            self._end(0)",
            ),
        ),
    ),
    Plant(
        "what comes with a change is noted before it is settled",
        SERVER,
        (
            (
                "cells[name] = cell\n        return None\n",
                "cells[name] = cell\n        self._learn(floor, name, rank, now=now)\n        return None\n",
            ),
        ),
    ),
    Plant(
        "what was not noted yet is left to whoever made the change",
        MODEL,
        (("pending = () if before is None or settled(cells, need) else before.pending", "pending = ()"),),
        {"ttl": 1.0, "refused": 0.25},
    ),
    Plant(
        "a server that has forgotten counts at once",
        SERVER,
        (
            (
                "                if self.floor is None:\n                    return Absent.BARE, ()\n",
                "                self.floor = self.floor or 0\n",
            ),
        ),
    ),
    Plant(
        "a server that has forgotten is told by any other",
        MODEL,
        (("return whole > size - majority(size) or", "return whole > 0 or"),),
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.idea)
def test_a_bug_planted_where_a_majority_sets_a_sheet_is_found(plant: Plant) -> None:
    assert plant.is_caught("registers")
