"""Several of a kind, as a sentence tells them."""

from __future__ import annotations

from collections.abc import Sequence

MOST = 8
"""So many numbers are told; of more, the first and the last."""
A_RUN = 3
"""So many in a row are told by their ends."""


def listed(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([*([", ".join(parts[:-1])] if parts[:-1] else []), *parts[-1:]])


def in_runs(names: Sequence[str]) -> list[str]:
    """Those that are not empty; three or more in a row by their ends: `Monday to Friday`."""
    runs = list[list[str]]([[]])
    for name in names:
        if name:
            runs[-1].append(name)
        elif runs[-1]:
            runs.append([])
    return [part for run in runs for part in ([f"{run[0]} to {run[-1]}"] if len(run) >= A_RUN else run)]


def enumerated(numbers: Sequence[int], unit: str) -> str:
    """`minute 5`, `minutes 0 to 10`, `minutes 0, 7, 14, …, 56`."""
    if len(numbers) == 1:
        return f"{unit} {numbers[0]}"
    said = in_runs([str(number) if number in numbers else "" for number in range(numbers[-1] + 1)])
    if len(said) > MOST:
        return f"{unit}s {', '.join(said[:3])}, …, {said[-1]}"
    return f"{unit}s {listed(said)}"


def pace(numbers: Sequence[int], size: int, unit: str) -> str:
    """`every 5 minutes`, if they are as far apart everywhere, and from the last to the first again; else nothing."""
    step = size // len(numbers)
    if [*numbers] != [*range(0, size, step)] or size % step or len(numbers) == 1:
        return ""
    return f"every {unit}" if step == 1 else f"every {step} {unit}s"
