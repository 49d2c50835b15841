"""Both colours offer the same: what can be asked of the store has a twin with the prefix `a`."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import dibs

CONTROL = ["pause", "resume", "trigger", "skip_next", "cancel", "backfill", "stop_backfill"]
TWINS = [
    (
        dibs.Dibs,
        [
            "inspect",
            "locks",
            "force_release",
            "close",
            "adopt",
            "execute_with_lock",
            "acquire_lock",
            "release_lock",
            "is_locked",
            "serve",
            "stats",
            "freeze",
            "thaw",
            "frozen",
            "runs",
            "timings",
            "upcoming",
            "nodes",
            "acts",
            "held_at",
            "lock_history",
            "why",
        ],
    ),
    (dibs.Job, ["history", "submit", "step", "steps", *CONTROL]),
    (dibs.Schedules, ["add", "add_all", "change", "remove", "get", "list", *CONTROL]),
    (dibs.Backfill, ["start"]),
    (dibs.Lock, ["acquire"]),
    (dibs.TryLock, ["acquire"]),
    (dibs.RLock, ["acquire"]),
    (dibs.LockAll, ["acquire"]),
    (dibs.Leases, ["release"]),
    (dibs.Lease, ["extend", "release"]),
    (dibs.Term, ["resign"]),
    (dibs.Terms, ["close"]),
    (dibs.Worker, ["acquire", "close"]),
]


@pytest.mark.parametrize(("face", "verbs"), TWINS, ids=lambda value: getattr(value, "__name__", ""))
def test_every_verb_that_asks_the_store_has_an_async_twin(face: type, verbs: list[str]) -> None:
    for verb in verbs:
        blocking, twin = getattr(face, verb), getattr(face, f"a{verb}")
        assert inspect.signature(blocking) == inspect.signature(twin)
        assert blocking.__doc__ == twin.__doc__
        assert inspect.iscoroutinefunction(twin)
        assert not inspect.iscoroutinefunction(blocking)


@pytest.mark.parametrize(("face", "verbs"), TWINS, ids=lambda value: getattr(value, "__name__", ""))
def test_no_async_verb_lacks_its_blocking_twin(face: type, verbs: list[str]) -> None:
    public = [name for name in dir(face) if not name.startswith("_")]
    coroutines = [name for name in public if inspect.iscoroutinefunction(getattr(face, name))]
    assert sorted(coroutines) == sorted(f"a{verb}" for verb in verbs)


@pytest.mark.parametrize(
    "face", [dibs.Dibs, dibs.Lock, dibs.TryLock, dibs.RLock, dibs.LockAll, dibs.Terms, dibs.Worker]
)
def test_what_can_be_entered_can_be_entered_in_both_colours(face: type) -> None:
    for blocking, twin in (("__enter__", "__aenter__"), ("__exit__", "__aexit__")):
        assert inspect.signature(getattr(face, blocking)) == inspect.signature(getattr(face, twin))


def test_all_public_names_are_listed_and_documented() -> None:
    assert sorted(dibs.__all__) == sorted(dibs._HOMES)
    assert set(dibs.__all__) <= set(dir(dibs))
    with pytest.raises(AttributeError, match="nonsense"):
        dibs.nonsense  # type: ignore[attr-defined]  # noqa: B018
    for name in dibs.__all__:
        assert hasattr(dibs, name)
        if inspect.isclass(getattr(dibs, name)):
            assert getattr(dibs, name).__doc__, name


def test_importing_dibs_brings_in_no_third_party_module_and_no_event_loop() -> None:
    script = (
        "import sys; before = set(sys.modules); import dibs; "
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(new - sys.stdlib_module_names), 'asyncio' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['dibs'] False"


def test_a_plain_lock_brings_in_nothing_that_only_other_subjects_need() -> None:
    script = (
        "import sys, dibs\n"
        "with dibs.connect('memory://', quiet=True) as d, d.lock('a'):\n"
        "    model = [f'model.{room}' for room in ('shadowed', 'stats', 'template', 'window')]\n"
        "    jobs = ['history', 'job', 'jobs', 'model.calendar', 'model.job', 'run']\n"
        "    rooms = ['fenced', 'leader', 'token', 'turn', 'worker', *model, *jobs]\n"
        "    print([room for room in rooms if f'dibs.{room}' in sys.modules], 'asyncio' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"
