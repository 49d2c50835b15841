"""The floor of a hand-over through Redis, in C: a lock that goes to and fro between two connections."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from bench.crew import Meet
from bench.redis.line import line

SOURCE = Path(__file__).with_name("pingpong.c")
COMPILERS = ("cc", "gcc", "clang")

ACQUIRE = """\
-- KEYS  lock, queue, fence; ARGV  player (and its channel), ttl (ms)
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return redis.call('INCR', KEYS[3])
end
redis.call('RPUSH', KEYS[2], ARGV[1])
return -1
"""
RELEASE = """\
-- KEYS  lock, queue, fence; ARGV  player (and its channel), ttl (ms)
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local next = redis.call('LPOP', KEYS[2])
if not next then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], next, 'PX', ARGV[2])
redis.call('PUBLISH', next, redis.call('INCR', KEYS[3]))
return 2
"""


def compiler() -> str | None:
    """A C compiler, if this machine has one."""
    return next(filter(None, map(shutil.which, COMPILERS)), None)


def compiled(compiler: str, folder: Path) -> Path:
    """The program, made in the folder."""
    program = folder / "pingpong"
    subprocess.run([compiler, "-O2", "-o", str(program), str(SOURCE)], check=True)  # noqa: S603
    return program


def play(program: Path, port: int, span: float, number: int, meet: Meet) -> tuple[float, float, float]:
    """A part: hand-overs a second, and the median and the 99th percentile of their seconds."""
    with line(port) as control:
        scripts = [control.script_load(script) for script in (ACQUIRE, RELEASE)]
    words = [str(program), str(port), *scripts, str(span)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout  # noqa: S603
    pace, half, most = map(float, said.split())
    return pace, half / 1e6, most / 1e6
