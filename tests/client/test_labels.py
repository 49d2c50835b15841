"""What jobs ask of nodes, and what nodes say of themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from dibs import ConfigError, Dibs
from dibs.config import Config
from dibs.events import RunEnded
from dibs.flows.muster import survey
from dibs.model.fleet import Node as Seen
from dibs.runtime.blocking import run as run_flow
from dibs.stores.memory import MemoryBackend
from tests.client.nodes import Node


@pytest.fixture
def node() -> Iterator[Node]:
    with Node(config=Config(labels=("eu",), version="2.0")) as node:
        yield node


def seen(node: Node) -> Seen:
    """The only node, as all see it."""
    engine = node.d._engine
    [found] = run_flow(survey(engine.blocking("look"), engine.desk)).nodes
    return found


class TestJobs:
    @pytest.mark.parametrize(
        ("said", "labels"),
        [("gpu", ("gpu",)), ("gpu, eu", ("eu", "gpu")), (["gpu", "eu", "gpu"], ("eu", "gpu")), ((), ()), ("", ())],
    )
    def test_a_job_asks_for_labels(self, d: Dibs, said: Any, labels: tuple[str, ...]) -> None:
        for job in (d.every("1s", name="a", labels=said), d.cron("@daily", name="b", labels=said)):
            assert job(lambda: None).duty.terms.labels == labels
        assert d.job(name="c", labels=said)(lambda: None).duty.terms.labels == labels

    @pytest.mark.parametrize(
        ("said", "fault"),
        [
            ("big gpu", "labels='big gpu': 'big gpu' is no label: a label may hold no blanks and no commas"),
            (["a,b"], r"a label may hold no blanks and no commas; say them as 'gpu,eu' or \('gpu', 'eu'\)"),
            ([""], "a label needs at least one character"),
            ([7], "7 is no label: a label is text, not int"),
            (7, "labels are text, not int"),
            (None, "labels are text, not NoneType"),
            ("x" * 201, "a label may have at most 200 bytes"),
        ],
    )
    def test_what_is_no_label_is_told_where_it_is_said(self, d: Dibs, said: Any, fault: str) -> None:
        with pytest.raises(ConfigError, match=fault):
            d.every("1s", labels=said)

    def test_only_a_node_that_has_them_all_runs_it(self, node: Node) -> None:
        @node.d.every("1s", labels="gpu,eu")
        def big() -> None: ...

        @node.d.every("1s")
        def small() -> None: ...

        @node.d.every("1s", labels="eu")
        def european() -> None: ...

        node.start()
        node.step()
        assert {event.job for event in node.diary.wait_for(RunEnded, 2)} == {"small", "european"}
        node.end()
        node.start(labels=("eu", "gpu", "big"))
        node.step()
        assert "big" in {event.job for event in node.diary.wait_for(RunEnded, 5)}
        node.end()


class TestNodes:
    def test_what_is_configured_holds_where_nothing_is_said(self, node: Node) -> None:
        node.d.job(name="report")(lambda: None)
        node.start()
        assert (seen(node).labels, seen(node).version) == (("eu",), "2.0")
        node.end()

    def test_an_argument_wins(self, node: Node) -> None:
        node.d.job(name="report")(lambda: None)
        node.start(labels="gpu, arm", version="2.1-rc1")
        assert (seen(node).labels, seen(node).version) == (("arm", "gpu"), "2.1-rc1")
        node.end()

    def test_to_say_none_is_to_say_something(self, node: Node) -> None:
        node.d.job(name="report")(lambda: None)
        node.start(labels=(), version="")
        assert (seen(node).labels, seen(node).version) == ((), "")
        node.end()

    def test_beside_a_web_application_it_is_the_same(self) -> None:
        async def main() -> None:
            async with Dibs(MemoryBackend()) as d:
                d.job(name="report")(lambda: None)
                async with d.lifespan(labels="gpu", version="7"):
                    assert d._service is not None
                    crew = d._service._crew
                    assert (crew.labels, crew.version) == (("gpu",), "7")

        asyncio.run(main())

    @pytest.mark.parametrize(
        ("options", "fault"),
        [
            ({"labels": "a b"}, "labels='a b': 'a b' is no label"),
            ({"version": 2}, "version=2: a version is text, not int"),
            ({"version": "1\n2"}, "a version may hold no control or invisible characters"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, node: Node, options: dict[str, Any], fault: str) -> None:
        node.d.job(name="report")(lambda: None)
        with pytest.raises(ConfigError, match=fault):
            node.d.serve(**options)
