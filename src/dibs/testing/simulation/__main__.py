"""`python -m dibs.testing.simulation --seeds 20000`, or `--seed 123` for the trace of one world.

Half of the worlds are of locks, and half of nodes that run jobs: those of odd seeds. With `--quorum` all are of locks
on several servers, with `--registers` of a sheet that several servers keep.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from dibs.testing.simulation.cron.story import play_cron
from dibs.testing.simulation.quorum.registers import play_registers
from dibs.testing.simulation.quorum.story import play_quorum
from dibs.testing.simulation.story import Verdicts, play

CHUNK = 250
KINDS: dict[Callable[..., Verdicts], str] = {play_quorum: " QUORUM=1", play_registers: " REGISTERS=1"}
"""How to ask make for one of them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Attack many worlds, or show one."""
    parser = argparse.ArgumentParser(prog="python -m dibs.testing.simulation", description=main.__doc__)
    parser.add_argument("--seeds", type=int, default=2_000, metavar="N", help="how many worlds to attack")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the first seed")
    parser.add_argument("--seed", type=int, metavar="N", help="show the trace of this one world instead")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes to use")
    parser.add_argument("--quorum", action="store_true", help="worlds of several servers, of which a majority decides")
    parser.add_argument("--registers", action="store_true", help="the same, where many change one sheet")
    options = parser.parse_args(argv)
    played = play_registers if options.registers else play_quorum if options.quorum else _play
    if options.seed is not None:
        return _show(played(options.seed, with_trace=True))
    return _attack(range(options.first, options.first + options.seeds), options.jobs, played)


def _play(seed: int, *, with_trace: bool = False) -> Verdicts:
    return play_cron(seed, with_trace=with_trace) if seed % 2 else play(seed, with_trace=with_trace)


def _show(found: Verdicts) -> int:
    print(f"seed {found.seed}: {found.weather}")
    print(*found.trace, sep="\n")
    print(*(found.faults or ["no fault found"]), sep="\n")
    return 1 if found.faults else 0


def _attack(seeds: range, jobs: int, played: Callable[..., Verdicts]) -> int:
    began = time.perf_counter()
    counts: Counter[str] = Counter()
    faulty: list[tuple[int, str]] = []
    with ProcessPoolExecutor(jobs) as pool:
        chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
        for some_counts, some_faulty in pool.map(partial(_attack_some, played), chunks):
            counts.update(some_counts)
            faulty.extend(some_faulty)
    took = time.perf_counter() - began
    print(f"{len(seeds)} worlds in {took:.1f}s ({len(seeds) / took:.0f}/s): {len(faulty)} with a fault")
    print("seen: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    for seed, fault in faulty[:10]:
        print(f"seed {seed}: {fault}")
    if faulty:
        print(f"look at one with: make sim SEED={faulty[0][0]}{KINDS.get(played, '')}")
    return 1 if faulty else 0


def _attack_some(played: Callable[..., Verdicts], seeds: Iterable[int]) -> tuple[Counter[str], list[tuple[int, str]]]:
    counts: Counter[str] = Counter()
    faulty: list[tuple[int, str]] = []
    gc.disable()  # worlds are small and short-lived; collecting between chunks is a third faster
    for seed in seeds:
        found = played(seed)
        counts.update(found.counts)
        if found.faults:
            faulty.append((seed, found.faults[0]))
    gc.collect()
    return counts, faulty


if __name__ == "__main__":
    sys.exit(main())
