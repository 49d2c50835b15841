"""Which keys a file may have, and what becomes of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from dibs.config import redisson
from dibs.config.settings import ALL
from dibs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

SECTION = "dibs."
"""Where our own settings are in a file that other programs read, too."""
NEIGHBOURS = ("redis.", "workflow.lock.")
"""Where other programs may have settings that we do not know, in such a file."""

Entries: TypeAlias = dict[str, tuple[str, object]]
"""What a file says, by our name of the key: the key as it was written there, and its value."""


def plain(key: str) -> str:
    """The key as it is compared: `wait-time`, `wait_time` and `waitTime` are one."""
    return key.replace("-", "").replace("_", "").lower()


KNOWN = {plain(key): key for setting in ALL for key in setting.keys}


def accepted(found: Mapping[str, object], label: str, *, section: str = "") -> tuple[Entries, list[str]]:
    """What a file of ours says, and what is to be told of it. A key that nobody knows is refused."""
    entries, notices = Entries(), list[str]()
    for key, value in found.items():
        if plain(key) in KNOWN:
            _enter(entries, (f"{section}{key}", value), KNOWN[plain(key)], label=label)
        elif key.startswith(redisson.PREFIX):
            notices.append(redisson.notice(f"{section}{key}", label))
        else:
            raise ConfigError(f"file {label}, key {section}{key}: there is no such setting; {_nearest(key)}")
    return entries, notices


def accepted_among_others(found: Mapping[str, object], label: str) -> tuple[Entries, list[str]]:
    """The same of a file that other programs read, too: what is not for us is none of our business."""
    own = {key.removeprefix(SECTION): value for key, value in found.items() if key.startswith(SECTION)}
    entries, notices = accepted(own, label, section=SECTION)
    for key, value in found.items():
        if "." in key and plain(key) in KNOWN:
            _enter(entries, (key, value), KNOWN[plain(key)], label=label)
        elif key.startswith(redisson.PREFIX):
            notices.append(redisson.notice(key, label))
        elif key.startswith(NEIGHBOURS):
            notices.append(f"file {label}, key {key} is ignored: there is no such setting; {_nearest(key)}")
    return entries, notices


def _enter(entries: Entries, entry: tuple[str, object], known: str, *, label: str) -> None:
    if known in entries:
        raise ConfigError(f"file {label} says the same twice, as {entries[known][0]} and {entry[0]}: keep one of them")
    entries[known] = entry


def _nearest(key: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only who has misspelt something needs it

    if near := get_close_matches(plain(key), KNOWN, n=1):
        return f"did you mean {KNOWN[near[0]]}?"
    return f"there are {', '.join(sorted(known for known in KNOWN.values() if not known.startswith(redisson.CONFIG)))}"
