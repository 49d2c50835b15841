"""`python -m dibs.testing.simulation --seeds 20000`, or `--seed 123` for the trace of one world.

Half of the worlds are of locks, and half of nodes that run jobs: those of odd seeds.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor

from dibs.testing.simulation.cron.story import play_cron
from dibs.testing.simulation.story import Verdicts, play

CHUNK = 250


def main(argv: Sequence[str] | None = None) -> int:
    """Attack many worlds, or show one."""
    parser = argparse.ArgumentParser(prog="python -m dibs.testing.simulation", description=main.__doc__)
    parser.add_argument("--seeds", type=int, default=2_000, metavar="N", help="how many worlds to attack")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the first seed")
    parser.add_argument("--seed", type=int, metavar="N", help="show the trace of this one world instead")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes to use")
    options = parser.parse_args(argv)
    if options.seed is not None:
        return _show(_play(options.seed, with_trace=True))
    return _attack(range(options.first, options.first + options.seeds), options.jobs)


def _play(seed: int, *, with_trace: bool = False) -> Verdicts:
    return play_cron(seed, with_trace=with_trace) if seed % 2 else play(seed, with_trace=with_trace)


def _show(found: Verdicts) -> int:
    print(f"seed {found.seed}: {found.weather}")
    print(*found.trace, sep="\n")
    print(*(found.faults or ["no fault found"]), sep="\n")
    return 1 if found.faults else 0


def _attack(seeds: range, jobs: int) -> int:
    began = time.perf_counter()
    counts: Counter[str] = Counter()
    faulty: list[tuple[int, str]] = []
    with ProcessPoolExecutor(jobs) as pool:
        chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
        for some_counts, some_faulty in pool.map(_attack_some, chunks):
            counts.update(some_counts)
            faulty.extend(some_faulty)
    took = time.perf_counter() - began
    print(f"{len(seeds)} worlds in {took:.1f}s ({len(seeds) / took:.0f}/s): {len(faulty)} with a fault")
    print("seen: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    for seed, fault in faulty[:10]:
        print(f"seed {seed}: {fault}")
    if faulty:
        print(f"look at one with: make sim SEED={faulty[0][0]}")
    return 1 if faulty else 0


def _attack_some(seeds: Iterable[int]) -> tuple[Counter[str], list[tuple[int, str]]]:
    counts: Counter[str] = Counter()
    faulty: list[tuple[int, str]] = []
    gc.disable()  # worlds are small and short-lived; collecting between chunks is a third faster
    for seed in seeds:
        found = _play(seed)
        counts.update(found.counts)
        if found.faults:
            faulty.append((seed, found.faults[0]))
    gc.collect()
    return counts, faulty


if __name__ == "__main__":
    sys.exit(main())
