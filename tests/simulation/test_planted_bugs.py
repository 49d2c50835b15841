"""A test of the tests: each of these bugs, planted in the real code, is found within 2,000 worlds."""

from __future__ import annotations

import pytest

from tests.simulation.plants import SEEDS, Plant

STORM = {"ttl": 4.0, "slow": 0.3, "lost": 0.1, "cut": 0.1, "cancel": 0.1}
"""Asks are late, lines are cut, and whoever asked has given up."""

PLANTS = [
    Plant(
        "a fence is the clock alone",
        "dibs.model.fence",
        (("max(last + 1, int(now * MICROSECONDS), seen + 1)", "int(now * MICROSECONDS)"),),
    ),
    Plant(
        "the fence counter dies with the lock",
        "dibs.stores.memory.server",
        (
            (
                "            self.locks.pop(name, None)\n",
                "            self.locks.pop(name, None)\n            self.last_fence = 0\n",
            ),
        ),
        first=1276,
    ),
    Plant(
        "tenure counts from hearing the push",
        "dibs.flows.bid",
        (("Tenure(self._request.ttl, asked_at)", "Tenure(self._request.ttl, self._world.now())"),),
        first=158,
    ),
    Plant(
        "an old hand-over that comes late counts from the newest ask",
        "dibs.flows.bid",
        (("is_after = self._request.room == 1 and 0 < place.held.fence < wake.fence", "is_after = True"),),
        first=196,
    ),
    Plant(
        "one more permit than there are",
        "dibs.model.lock",
        (("len(holders) < min(room", "len(holders) <= min(room"),),
    ),
    Plant(
        "a reader comes in beside a writer",
        "dibs.model.lock",
        (("min(room, *(holder.room for holder in holders))", "room"),),
    ),
    Plant(
        "readers pass a writer who waits",
        "dibs.model.succession",
        (
            (
                "if not lock.has_room(ticket.room):\n            break",
                "if not lock.has_room(ticket.room):\n            continue",
            ),
        ),
        first=181,
    ),
    Plant(
        "who waited for the lock does not look whether the work was done meanwhile",
        "dibs.flows.remembering",
        (("done = settled(sight.seen, came_to_see)", "done = None"),),
        first=61,
    ),
    Plant(
        "who has lost the lock may still note that it is done",
        "dibs.model.table",
        (
            (
                "LockState(lock.holders, queue, lock.barred), ask, now), answer)",
                "LockState(lock.holders, queue, lock.barred), ask, now), answer, memo=ask.memo)",
            ),
        ),
        first=38,
    ),
    Plant(
        "some of several locks are taken",
        "dibs.stores.memory.server",
        (
            (
                "            return turns\n",
                "            [self.turn(*each, now) for each in asks[: turns.place]]\n            return turns\n",
            ),
        ),
    ),
    Plant(
        "who leaves once is out, however often it is in",
        "dibs.flows.hold",
        (
            (
                "self.is_left = not entries\n        return len(entries)",
                "self.is_left = not entries\n        return 0",
            ),
        ),
    ),
    Plant(
        "who gives up one of several locks keeps the others",
        "dibs.flows.together",
        (
            (
                "                _drop(world, desk, holds)\n                return Hindered",
                "                return Hindered",
            ),
        ),
        first=607,
    ),
    Plant(
        "several locks are taken in the order they are named",
        "dibs.testing.simulation.story",
        (("for name in self._names]", "for name in sorted(self._names, reverse=process.name > 'p0')]"),),
        first=1759,
    ),
    Plant(
        "tenure counts from hearing the answer",
        "dibs.flows.bid",
        (("Tenure(self._request.ttl, self._asked_at)", "Tenure(self._request.ttl, self._world.now())"),),
    ),
    Plant(
        "a renewal's tenure counts from hearing the answer",
        "dibs.flows.keeping",
        (("item.prolong(Tenure(asked.ttl, asked_at), now)", "item.prolong(Tenure(asked.ttl, now), now)"),),
        {"ttl": 1.0, "slow": 0.3},
    ),
    Plant(
        "a repeated ask does not reset the TTL",
        "dibs.model.table",
        (
            (
                "Acquire: _Cells(free=_join, mine=_prolong",
                "Acquire: _Cells(free=_join, mine=lambda lock, ask, now: _Done(lock)",
            ),
        ),
        first=433,
    ),
    Plant(
        "a newcomer is served before the queue",
        "dibs.model.succession",
        (
            (
                "for ticket in lock.queue:\n        if ticket.owner != asker",
                "for ticket in sorted(lock.queue, key=lambda t: t.owner != asker):\n        if ticket.owner != asker",
            ),
        ),
    ),
    Plant(
        "release without owner",
        "dibs.model.table",
        (("mine=_vacate, theirs=_forget", "mine=_vacate, theirs=_vacate"),),
        first=136,
    ),
    Plant(
        "renew without owner",
        "dibs.model.table",
        (
            (
                "Renew: _Cells(free=_gone, mine=_renew, theirs=_gone)",
                "Renew: _Cells(free=_gone, mine=_renew, theirs=lambda lock, ask, now: _Done(lock, Said.KEPT))",
            ),
        ),
        first=867,
    ),
    Plant(
        "keep-alive creates",
        "dibs.model.table",
        (
            (
                "return _Done(lock, Said.GONE)\n    queue =",
                'return _join(lock, Acquire(ask.owner, ask.ttl, now, "", ""), now)\n    queue =',
            ),
        ),
        first=465,
    ),
    Plant(
        "a new owner on every try",
        "dibs.flows.bid",
        (("        self._tries += 1\n", "        self._tries += 1\n        self._owner = self._world.token()\n"),),
    ),
    Plant("no margin for drift", "dibs.model.tenure", (("MARGIN = 0.1", "MARGIN = 0.0"),)),
    Plant(
        "a cancelled acquire leaves nothing",
        "dibs.flows.locking",
        (("    except BaseException:\n        bid.leave()\n", "    except BaseException:\n"),),
        first=87,
    ),
    Plant(
        "a leave is said once",
        "dibs.flows.desk",
        (("    note_debt(world, desk, name, leave, ttl=ttl, due_in=RETRY)\n", ""),),
    ),
    Plant(
        "nobody wakes at the known expiry",
        "dibs.flows.bid",
        (
            ("ask_at = self._asked_at + place.ask_again_in", "ask_at = inf"),
            ("ask_at = self._world.now() + wake.ask_again_in", "ask_at = inf"),
        ),
        first=36,
    ),
    Plant(
        "who has left may still be granted",
        "dibs.model.table",
        (("if ask.bar_until is None or ask.bar_until < now:", "if True:"),),
        STORM,
        first=131,
    ),
    Plant(
        "a leave does not bar the unanswered ask",
        "dibs.flows.bid",
        (("Leave(self._owner, self._may_land_until or None)", "Leave(self._owner, None)"),),
        STORM,
        first=492,
    ),
    Plant(
        "an ask is never too late",
        "dibs.model.table",
        (("now > ask.not_after or ask.owner in lock.barred", "ask.owner in lock.barred"),),
    ),
    Plant(
        "a loss heard before its grant is forgotten",
        "dibs.flows.bid",
        (
            ("None if answer.fence in self._void else self.granted(answer)", "self.granted(answer)"),
            ("tenure.is_stale(now) or wake.fence in self._void", "tenure.is_stale(now)"),
            ("if arrived and Taken(fence) in arrived:", "if False:"),
        ),
        {"ttl": 1.0, "slow": 0.2, "disasters": ["evict", "evict", "evict"]},
    ),
    Plant(
        "the keeper sleeps while a lease runs out",
        "dibs.flows.keeping",
        (("min(hold.renew_at(), hold.tenure.trusted_until)", "hold.renew_at()"),),
    ),
    Plant(
        "an outage ends a candidacy",
        "dibs.flows.electing",
        (("            is_told = True\n", "            raise\n"),),
        first=36,
    ),
    Plant(
        "who met an outage while it stood does not stand again",
        "dibs.flows.electing",
        (("            is_told = True\n", "            await world.pause(1e9)\n"),),
        first=36,
    ),
    Plant(
        "who leaves in the middle of its term tells nobody",
        "dibs.flows.electing",
        (
            (
                "        note_debt(world, desk, hold.name, Leave(hold.owner, hold.bar_until), ttl=hold.request.ttl)\n",
                "",
            ),
        ),
        first=40,
    ),
    Plant(
        "a leader goes on with a term that it knows is lost",
        "dibs.flows.hold",
        (
            (
                "if self.lost_because is not None or self.is_over:\n            return LOST",
                "if self.is_over:\n            return LOST",
            ),
        ),
        first=36,
    ),
    Plant(
        "a candidate takes the term of another in its process for its own",
        "dibs.flows.electing",
        (
            (
                "taken = await stand()",
                "taken = next((hold for hold in desk.holds.values() if hold.name == name), None) or await stand()",
            ),
        ),
    ),
    Plant(
        "a candidate does not say which fences it has seen",
        "dibs.flows.bid",
        (("            desk.seen_fence,\n", "            0,\n"),),
        {"ttl": 1.0, "disasters": ["jump back", "forget"]},
        first=43,
    ),
    Plant(
        "a minority is enough",
        "dibs.testing.simulation.copies",
        (("outcomes) >= MAJORITY and not", "outcomes) >= 1 and not"),),
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.idea.replace(" ", "-"))
def test_a_planted_bug_is_caught(plant: Plant) -> None:
    assert plant.is_caught("locks"), f"no world among {SEEDS} shows that {plant.idea}"
