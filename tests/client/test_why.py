"""Why a tick did or did not run, as clients tell it on every kind of store; `tests/flows/test_why.py` has each case."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dibs import Dibs, NoSuchJob
from dibs.events import RunEnded
from dibs.ports.wire import Backend
from dibs.stores import open_store
from dibs.testing.contract import Diary
from tests.client.nodes import Node
from tests.client.people import Says, at_work, blocking, in_a_loop
from tests.servers.fixtures import on_valkey_9

in_both_colours = pytest.mark.parametrize("say", [blocking, in_a_loop], ids=["blocking", "asyncio"])


class Reasons:
    """Subclass it and give a `backend` fixture."""

    @pytest.fixture
    def d(self, backend: Backend, diary: Diary) -> Iterator[Dibs]:
        with Dibs(backend, observers=[diary]) as d:
            yield d

    @in_both_colours
    def test_what_somebody_has_asked_for_ran(self, backend: Backend, d: Dibs, say: Says) -> None:
        d.schedules.add("berlin", job="report", every="300d")
        with at_work(backend) as worker:
            tick = d.schedules.trigger("berlin", by="eve", reason="a look")
            worker.ended(1)
        told = say(d, "why", "berlin", tick)
        assert (told.job, told.verdict, told.tick) == ("berlin", "ran", tick)
        assert str(told).startswith("The run that was asked for at ")
        assert " by eve (a look) ran on " in str(told)
        assert [view.outcome for view in told.runs] == ["ok"]
        assert [(act.act, act.job) for act in told.acts] == [("triggered", "berlin")]

    @in_both_colours
    def test_nobody_is_there_or_the_fleet_is_frozen(self, d: Dibs, say: Says) -> None:
        d.schedules.add("berlin", job="report", every="300d")
        tick = d.schedules.trigger("berlin")
        assert say(d, "why", "berlin", tick).verdict == "no live node"
        d.freeze(by="eve")
        assert say(d, "why", "berlin", tick).verdict == "frozen"
        assert "the whole fleet is frozen by eve" in str(say(d, "why", "berlin", tick))

    @in_both_colours
    def test_it_is_paused_or_not_due(self, d: Dibs, say: Says) -> None:
        d.schedules.add("berlin", job="report", every="1h")
        soon = datetime.now(UTC) + timedelta(hours=2)
        assert say(d, "why", "berlin", soon).verdict == "not due yet"
        d.schedules.pause("berlin", by="eve", reason="holidays")
        assert "will not be run: the job was paused by eve (holidays)" in str(say(d, "why", "berlin", soon.timestamp()))
        told = say(d, "why", "berlin", datetime.now(UTC) - timedelta(days=400))
        assert (told.verdict, told.tick) == ("no tick", None)

    @in_both_colours
    def test_a_name_that_nobody_knows_is_told(self, d: Dibs, say: Says) -> None:
        with pytest.raises(NoSuchJob, match="'berlni'"):
            say(d, "why", "berlni", datetime.now(UTC))


class TestOnOneMachine(Reasons):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Backend:
        return open_store(f"sqlite:///{tmp_path}/dibs.sqlite")


@on_valkey_9
class TestOnAServer(Reasons):
    @pytest.fixture
    def backend(self, server_url: str) -> Backend:
        return open_store(server_url)


def test_a_job_in_hand_is_asked_for_as_well() -> None:
    with Node() as node:
        job = node.d.every("1s", name="job")(lambda: 7)
        node.start()
        view = node.outcome(job)
        node.diary.wait_for(RunEnded, 1)
        told = node.d.why(job, view.tick)
        assert (told.verdict, told.tick, told.runs[0].result) == ("ran", view.tick, 7)
