"""The scripts of a server that is one of several: those of a single one, but none decides for itself who is next."""

from __future__ import annotations

from dibs.stores.redis.scripts import Script, script, source

_VOTES, _KEEPS = "local votes = true\n", "local votes = false\n"


def _source(name: str) -> str:
    """A file of ours, or where we have none, of the store for a single server."""
    return source(name, "dibs.stores.quorum")


def _script(name: str, before: str = "") -> Script:
    return script(name, before + _source(name))


_BORN = _source("born")
ACQUIRE, ENTER = _script("acquire", _source("free") + _VOTES), _script("enter", _BORN + _VOTES)
KEEP, LEAVE, EVICT = _script("keep", _KEEPS), _script("leave", _KEEPS), _script("evict", _KEEPS)
RECALL, RAISE, WITHDRAW = _script("recall", _BORN), _script("raise"), _script("withdraw", _KEEPS)
CENSUS, CHRISTEN = _script("census"), _script("christen")
CONSULT, PREPARE, ACCEPT, LEARN = map(_script, ("consult", "prepare", "accept", "learn"))
SURVEY, COPY, ADOPT = map(_script, ("survey", "copy", "adopt"))
ALL = (
    *(ACQUIRE, ENTER, KEEP, LEAVE, EVICT, RECALL, RAISE, WITHDRAW, CENSUS, CHRISTEN),
    *(CONSULT, PREPARE, ACCEPT, LEARN, SURVEY, COPY, ADOPT),
)
