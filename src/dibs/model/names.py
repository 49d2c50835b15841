"""Which names a lock, a namespace or a purpose may have."""

from __future__ import annotations

LONGEST = 200
"""The most bytes a name may have, in UTF-8."""


def name_fault(name: object, *, what: str = "a lock's name") -> str | None:
    """What is wrong with a name, as the end of a sentence; `None` if it may be used."""
    if name == "":
        return f"{what} needs at least one character"
    if isinstance(name, str) and name != name.strip():
        return f"{what} may not begin or end with a blank"
    return text_fault(name, what=what)


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
