"""Which names a lock, a namespace or a purpose may have."""

from __future__ import annotations

import re

LONGEST = 200
"""The most bytes a name may have, in UTF-8."""

STEP = "~step:"
"""Between the name of a job and that of one of its steps."""
WORKER = "~worker:"
"""Before the name of a lock under which workers do something by turns."""

SIDES = (
    "backfill",
    "bars",
    "counts",
    "due",
    "ends",
    "entries",
    "expiries",
    "fence",
    "holders",
    "index",
    "jobs",
    "lapses",
    "leases",
    "line",
    "lines",
    "memo",
    "names",
    "registers",
    "tagged",
    "tick",
    "tickets",
)
"""What stores keep beside a lock or a job, under its name, a `~` and one of these."""

_TAGGED = re.compile(r"[^{]*\{[^}]+\}")
_PLAIN = re.compile(rf"[a-zA-Z0-9:._/-]{{1,{LONGEST}}}")
"""As nearly all names are: there is nothing wrong with these."""


def name_fault(name: object, *, what: str = "a lock's name") -> str | None:
    """What is wrong with a name, as the end of a sentence; `None` if it may be used."""
    if name == "":
        return f"{what} needs at least one character"
    if isinstance(name, str) and name != name.strip():
        return f"{what} may not begin or end with a blank"
    return text_fault(name, what=what)


def lock_fault(name: object, *, what: str = "a lock's name") -> str | None:
    """What is wrong with a lock's name. It may be used on every store if it may be on one."""
    if isinstance(name, str) and _PLAIN.fullmatch(name):
        return None
    if fault := name_fault(name, what=what):
        return fault
    name = str(name)
    if "~" in name and name.rpartition("~")[2] in SIDES:
        return f"{what} may not end in {name[name.rindex('~') :]!r} (so end the names of what is kept beside it)"
    if "}" in name and not is_tagged(name):
        return f"a '}}' in {what} must end a {{tag}} (or its keys would be in several slots of a cluster)"
    return None


def job_fault(name: object, *, what: str = "a job's name") -> str | None:
    """What is wrong with the name of a job or a schedule: as a lock's, but a fleet keeps its own things beside them."""
    if isinstance(name, str) and name.startswith("~"):
        return f"{what} may not begin with '~' (so begin the names of what a fleet keeps of itself)"
    if isinstance(name, str) and STEP in name:
        return f"{what} may not hold {STEP!r} (so are its steps told apart)"
    return lock_fault(name, what=what)


def is_tagged(key: str) -> bool:
    """Whether it says by a {tag} which slot of a cluster it belongs to."""
    return "{" in key and _TAGGED.match(key) is not None


def namespace_fault(namespace: object) -> str | None:
    """What is wrong with a namespace; the empty one is allowed and means bare names."""
    if namespace == "":
        return None
    if isinstance(namespace, str) and any(mark in namespace for mark in ":{}"):
        return "a namespace may hold no ':', '{' or '}' (they mark where a key's parts begin)"
    return name_fault(namespace, what="a namespace")


def text_fault(text: object, *, what: str) -> str | None:
    """What is wrong with a short text that is stored and shown to people."""
    if not isinstance(text, str):
        return f"{what} is text, not {type(text).__name__}"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return f"{what} must be encodable as UTF-8 (it holds half of a surrogate pair)"
    if size > LONGEST:
        return f"{what} may have at most {LONGEST} bytes (this one has {size})"
    if not text.isprintable():
        return f"{what} may hold no control or invisible characters"
    return None
