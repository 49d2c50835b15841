"""How histories are read, page by page."""

from __future__ import annotations

from dibs.flows import journal
from dibs.flows.journal import MOST_READ, PAGE
from dibs.model.record import ACTS, RUNS, Act, Record
from dibs.model.sheet import Entry, Question
from tests.flows.scripted import Process, Scene


def noted(scene: Scene, process: Process, *told: Record | Act) -> None:
    entries = [each.entry("report", "report") for each in told]
    scene.play(process.world.ask(process.desk.store.note("report", entries, 100_000, 1e9), 1.0))


def runs(scene: Scene, process: Process, question: Question) -> list[float]:
    found = scene.play(journal.runs(process.world, process.desk, question))
    return [record.tick for _, record in found]


def test_runs_and_acts_are_told_apart(scene: Scene, ann: Process) -> None:
    noted(scene, ann, Record(1.0, "ok", 1.0), Act("paused", 2.0, "eve"), Record(3.0, "failed", 4.0))
    assert runs(scene, ann, Question("report")) == [3.0, 1.0]
    assert runs(scene, ann, Question(RUNS, until=2.0)) == [1.0]
    [(name, act)] = scene.play(journal.acts(ann.world, ann.desk, Question(ACTS)))
    assert (name, act.act, act.by) == ("report", "paused", "eve")


def test_it_goes_on_over_all_pages_until_there_is_enough(scene: Scene, ann: Process) -> None:
    ticks = [float(number // 7) for number in range(3 * PAGE)]
    noted(scene, ann, *(Record(tick, "ok", tick) for tick in ticks))
    assert runs(scene, ann, Question("report", limit=3 * PAGE)) == sorted(ticks, reverse=True)
    assert len(runs(scene, ann, Question("report", limit=5 * PAGE))) == 3 * PAGE
    assert runs(scene, ann, Question("report", limit=3)) == [428.0] * 3


def test_of_more_lines_of_one_time_than_a_page_none_is_read_twice(scene: Scene, ann: Process) -> None:
    noted(scene, ann, *(Record(5.0, "ok", 5.0, attempt=number) for number in range(2 * PAGE + 10)))
    found = scene.play(journal.runs(ann.world, ann.desk, Question("report", limit=4 * PAGE)))
    assert sorted(record.attempt for _, record in found) == list(range(2 * PAGE + 10))


def test_it_looks_through_so_many_lines_and_no_more(scene: Scene, ann: Process) -> None:
    text = Act("paused", 2.0, "eve").text()
    entries = [Entry(float(number), text) for number in range(MOST_READ + PAGE)]
    scene.play(ann.world.ask(ann.desk.store.note("report", entries, 100_000, 1e9), 1.0))
    noted(scene, ann, Record(0.0, "ok", 0.0))
    assert runs(scene, ann, Question("report")) == []
    assert sum(question.limit for question in ann.world.asks("lines")) in range(MOST_READ, MOST_READ + PAGE)


def test_what_fits_is_found_page_by_page_and_the_last_one_says_that_it_is(scene: Scene, ann: Process) -> None:
    noted(scene, ann, *(Record(float(number // 5), "ok", 0.0, attempt=number % 5) for number in range(3 * PAGE)))
    rest: Question | None = Question("report", limit=100)
    found, pages = list[float](), 0
    while rest is not None:
        page = scene.play(journal.found(ann.world, ann.desk, rest, Record, fits=lambda record: record.attempt == 2))
        found, rest, pages = [*found, *(record.tick for _, record in page.lines)], page.rest, pages + 1
    assert found == [float(number) for number in reversed(range(600))]
    assert pages == 6, "there is none that is empty"


def test_who_has_looked_through_too_many_says_where_to_go_on(scene: Scene, ann: Process) -> None:
    noted(scene, ann, *(Record(float(number), "ok", 0.0) for number in range(MOST_READ + 2 * PAGE)))

    def fits(record: Record) -> bool:
        return record.tick in {5.0, MOST_READ}

    page = scene.play(journal.found(ann.world, ann.desk, Question("report", limit=2), Record, fits=fits))
    assert [record.tick for _, record in page.lines] == [MOST_READ]
    assert page.rest is not None
    rest = scene.play(journal.found(ann.world, ann.desk, page.rest, Record, fits=fits))
    assert ([record.tick for _, record in rest.lines], rest.rest) == ([5.0], None)


def test_who_has_enough_and_looks_through_too_many_for_more_goes_on_after_those(scene: Scene, ann: Process) -> None:
    noted(scene, ann, *(Record(float(number), "ok", 0.0) for number in range(MOST_READ + 2 * PAGE)))
    last = float(MOST_READ + 2 * PAGE - 1)
    question = Question("report", limit=1)
    page = scene.play(journal.found(ann.world, ann.desk, question, Record, fits=lambda record: record.tick == last))
    assert [record.tick for _, record in page.lines] == [last]
    assert page.rest == Question("report", until=last, skip=1, limit=1)
