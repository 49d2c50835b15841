"""What a `POST /update` asks for, checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from dibs.model.names import name_fault
from examples.ads_cluster.config import DURATION, LONGEST_DURATION

LONGEST_BODY = 64 * 1024


class Refused(Exception):
    """A request that cannot be meant: says what is wrong, and by which status."""

    def __init__(self, status: int, why: str) -> None:
        self.status = status
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class Wish:
    """An operation by name, and how long it takes, in milliseconds."""

    operation_name: str = "Custom Operation Name"
    duration: float = DURATION

    @classmethod
    def of(cls, body: bytes) -> Wish:
        """What was asked; without a body, or for what it leaves out, the usual."""
        if not body.strip():
            return cls()
        said = _object(body)
        name, duration = said.get("operationName", cls().operation_name), said.get("duration", DURATION)
        if fault := name_fault(name, what="an operationName"):
            raise Refused(400, fault)
        if isinstance(duration, bool) or not isinstance(duration, int | float):
            raise Refused(400, f"a duration is a number of milliseconds, not {type(duration).__name__}")
        if not 0 <= duration <= LONGEST_DURATION:
            raise Refused(400, f"a duration goes from 0 to {LONGEST_DURATION} milliseconds")
        return cls(name, duration)


def _object(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is not JSON") from None
    if not isinstance(said, dict):
        raise Refused(400, 'the body is no JSON object, as in {"operationName": "Manual Update", "duration": 2000}')
    return said
