"""Writes that a late holder cannot make: the resource remembers the newest fence, and refuses those below."""

from dibs.fenced.claim import Fenced
from dibs.fenced.database import Sql
from dibs.fenced.keys import redis

sql = Sql()

__all__ = ["Fenced", "redis", "sql"]
