"""The benchmark of jobs by the clock: how ticks and commands are counted, who drops out, and that nobody stays."""

import os
from math import inf
from pathlib import Path
from typing import Any, cast

import pytest

from bench.cron import plan, skew
from bench.cron.contest import Contest, Party, named
from bench.cron.fleet import Fleet, NodeFailed, fleet
from bench.cron.lateness import late
from bench.cron.load import commands
from bench.cron.peers import APSCHEDULER, OURS, SAQ
from bench.cron.plan import Plan, Ran
from bench.cron.scenarios import FULL, targets
from bench.cron.ticks import Tally
from bench.rounds import Row
from bench.targets import Verdict, judged


def test_ticks_are_told_by_how_often_each_was_run() -> None:
    each = [[6, 9, 9, 15], [9, 15, 18]]
    assert Tally.of(each, period=3, begin=7.5, end=18) == Tally(due=3, runs=5, runs_of_last=2, again=2, missed=1)


def test_what_was_run_of_other_times_does_not_count() -> None:
    told = Tally.of([[3, 3], [8, 18]], period=3, begin=6, end=18)
    assert told == Tally(due=4, runs=0, runs_of_last=0, again=0, missed=4)


def test_a_tick_that_is_never_run_is_late_for_ever() -> None:
    ran = [Ran(10.0, 10.25), Ran(10.5, 10.625), Ran(13.0, 13.5)]
    assert late(ran, [1.0, 1.5], begin=10.0, end=12.0) == [0.25, 0.125, inf]


def test_what_a_script_does_was_not_sent() -> None:
    shown = (
        b"+OK\r\n"
        b'+1.5 [0 127.0.0.1:9] "evalsha" "ab" "0"\r\n'
        b'+1.5 [0 lua] "time"\r\n'
        b'+1.6 [0 127.0.0.1:9] "set" "a" "b lua] c"\r\n'
        b"+1.7 [0 127."
    )
    assert commands(shown) == 2


def test_half_a_line_and_none_at_all_are_no_commands() -> None:
    assert commands(b"") == commands(b"+O") == commands(b"+OK\r\n") == commands(b"+OK\r\n+1.5 [0") == 0


def test_a_twentieth_of_what_another_sends_is_asked_for() -> None:
    load = FULL.idle
    rows = [Row(named("commands", load.idle, who), [sent], "/s a node") for who, sent in ((OURS, 6.0), (SAQ, 120.0))]
    found = {
        judgement.target.contender: judgement.verdict
        for judgement in judged(rows, targets(FULL))
        if judgement.verdict is not Verdict.UNKNOWN
    }
    assert found == {"": Verdict.MISSED, rows[1].name: Verdict.MET}


def party(system: str) -> Party:
    return Party(system, cast("Any", None), Fleet([]))


def broken(_: Party) -> None:
    raise NodeFailed("it is gone")


def test_a_peer_that_breaks_down_drops_out_by_name() -> None:
    contest = Contest("")
    assert contest.told("a scene", party(SAQ), broken) is None
    assert contest.told("a scene", party(APSCHEDULER), lambda party: party.system) == APSCHEDULER
    assert contest.dropped == {"saq in a scene": "it is gone"}


def test_a_run_in_which_we_break_down_ourselves_has_no_figures() -> None:
    with pytest.raises(NodeFailed):
        Contest("").told("a scene", party(OURS), broken)


def test_a_process_that_cannot_begin_says_why(tmp_path: Path) -> None:
    with (
        fleet(OURS, Plan("nowhere://", 1, 1), tmp_path, around=[{}]) as nodes,
        pytest.raises(NodeFailed, match=r"ConfigError: .*nowhere"),
    ):
        nodes.begun()


def test_processes_are_gone_however_a_scene_ends(tmp_path: Path) -> None:
    def play() -> None:
        with fleet(OURS, Plan(f"sqlite:///{tmp_path}/store.sqlite", 1, 1), tmp_path, around=[{}, {}]) as nodes:
            started.extend(node.process.pid for node in nodes.begun().nodes)
            raise KeyboardInterrupt

    started: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        play()
    assert len(started) == 2
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_what_a_process_has_run_is_read_from_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "node"
    file.write_text("")
    assert not plan.is_ready(file)
    file.write_text("ready\n3 3.25\n6.0 6.5\n")
    assert plan.is_ready(file)
    assert plan.noted(file) == [Ran(3.0, 3.25), Ran(6.0, 6.5)]


def test_a_plan_is_the_same_on_the_other_side(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Plan("redis://here", 2, 1.0, stretch=0.25, phase=0.5)
    monkeypatch.setattr("sys.argv", ["node", told.words()])
    assert Plan.told() == told
    assert told.periods == [1.0, 1.25]


@pytest.mark.skipif(bool(skew.NONE), reason=skew.NONE)
def test_a_process_whose_clock_is_to_be_behind_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(skew.behind(tmp_path, 2)) == {"LD_PRELOAD", "SKEW_FILE"}
    monkeypatch.setattr(skew, "_seen_late", lambda _: -0.1)
    with pytest.raises(skew.NotBehind):
        skew.behind(tmp_path, 2)
