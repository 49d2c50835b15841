"""Ask the node of this container: `python -m app.ask live`, `ready` or `drain`, and how many seconds to wait for it.

It ends with 0 if the answer is yes. It knows nothing of dibs, so that a probe costs no more than a Python that starts.
"""

from __future__ import annotations

import os
import socket
import sys

SOCKET = os.environ.get("NODE_SOCKET", "/run/app/node.sock")
WORDS = ("live", "ready", "drain")
PATIENCE = "3"
YES = "yes"


def main(words: list[str]) -> int:
    """Ask, and tell the answer."""
    if not words or words[0] not in WORDS:
        sys.stderr.write(f"usage: python -m app.ask {'|'.join(WORDS)} [SECONDS]\n")
        return 2
    said = answer(words[0], float((words[1:] or [PATIENCE])[0]))
    sys.stdout.write(f"{said}\n")
    return 0 if said.startswith(YES) else 1


def answer(word: str, patience: float) -> str:
    """What the node says; no, if it says nothing in time."""
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(patience)
            line.connect(SOCKET)
            line.sendall(f"{word}\n".encode())
            return line.makefile().readline().strip() or "no: it has hung up"
    except OSError as fault:
        return f"no: {fault} ({SOCKET})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
