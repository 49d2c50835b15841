"""The server of a folder, and our share in it.

Four lock files say what is so, as the kernel drops a lock with the last process that has it, however that one dies:

- `users` is shared by all who use the server. Its guardian waits to have it alone, and ends the server then.
- `door` is for one at a time: to find the server, or to start it. Who starts it passes the door on to the guardian,
  which opens it when the server is ready.
- `guard` is held by the guardian as long as it lives, and says where the server listens.
- `server` is held by the server itself: no two ever work on the same data.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from fcntl import LOCK_EX, LOCK_SH
from pathlib import Path

from dibs.errors import ClientClosed, ConfigError, StoreUnreachable
from dibs.stores.embedded.binary import valkey_binary
from dibs.stores.embedded.latch import Latch
from dibs.stores.embedded.location import DOOR, GUARD, LOG, SERVER, USERS, Folder, made_ready, socket_of
from dibs.stores.embedded.speech import answers, shut_down

PATIENCE = 10.0
"""How long a server may take to start, and all others to let us through the door."""
TRIES = 3
GUARDIAN = Path(__file__).with_name("guard.py")
READY = b"ready\n"
SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "maxmemory-policy": "noeviction",
    "save": "",
    "appendonly": "yes",
    # All writes are with the kernel before they are answered, which is enough for a server that is killed (with
    # `everysec` it is not so while the disk is slow). A power cut ends all holders, too.
    "appendfsync": "no",
    "aof-use-rdb-preamble": "no",  # so that an older Valkey can read it
}


def lease_server(folder: Folder, *, within: float = PATIENCE) -> ServerLease:
    """A share in the server of that folder, which is started if nobody has done so."""
    lease = ServerLease(folder)
    try:
        lease.revive(within=within)
    except BaseException:
        lease.close()
        raise
    return lease


class ServerLease:
    """A share in a server: it runs until the last one is closed, or its process has ended, in whichever way."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.socket_path = folder, socket_of(folder.path)
        self._users: Latch | None = None
        self._is_closed = False

    def revive(self, *, within: float = PATIENCE) -> None:
        """See to it that the server runs and the share is ours: it may have been killed, and we may have been forked.

        To be asked before each new connection: a forked child has no share of its own before, and where the server
        listens may have changed after.
        """
        self._refuse_if_closed()
        attempt = _Attempt(self.folder, within)
        before, self._users = self._users, attempt.share()
        if before is not None:
            before.close()
        try:
            self._refuse_if_closed()  # as it may be by now, by another thread: one that ends is waited for above
            self.socket_path = attempt.running()
        finally:
            self._leave_if_closed()

    def close(self) -> None:
        """Give the share back. The last one ends the server; its data stays."""
        self._is_closed = True
        self._leave_if_closed()

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise ClientClosed("use the embedded Valkey")

    def _leave_if_closed(self) -> None:
        if self._is_closed and self._users is not None:
            self._users.close()

    def __repr__(self) -> str:
        return f"<ServerLease {self.folder.url}{' closed' if self._is_closed else ''}>"


class _Attempt:
    """One try to have the server running, which comes to its end in time."""

    def __init__(self, folder: Folder, within: float) -> None:
        self._binary, self._url = valkey_binary(), folder.url
        self._folder = made_ready(folder)
        self._began_at, self._within = time.monotonic(), within

    def share(self) -> Latch:
        """Of those who use it; had before we look for it, so that it stays."""
        return self._taken(USERS, LOCK_SH, "another process keeps it from ending")

    def running(self) -> Path:
        """Where it listens, as soon as it does."""
        for _ in range(TRIES):
            if (path := self._found_or_started()) is not None:
                return path
        raise self._unreachable("it is killed whenever it starts", "look for what kills it: a lack of memory, say")

    def _found_or_started(self) -> Path | None:
        """Nowhere, if it was killed while it started."""
        with ExitStack() as latches:
            door = latches.enter_context(self._taken(DOOR, LOCK_EX, "another process is starting it, and does not end"))
            guard = latches.enter_context(self._latch(GUARD))
            if not guard.take(LOCK_EX):
                found = self._place(guard)
                if self._answers(found):
                    return found
                # It was killed, and its guardian ends with it.
                self._take(guard, LOCK_EX, f"its server does not listen at {found}")
            server = latches.enter_context(self._latch(SERVER))
            if not server.take(LOCK_EX):
                # Its guardian was killed. Linux kills the server then; elsewhere somebody must ask it to go.
                self._shut_down(self._place(guard))
                self._take(server, LOCK_EX, "a server without its guardian does not end")
            return self._started(door, guard, server)

    def _started(self, door: Latch, guard: Latch, server: Latch) -> Path | None:
        path = socket_of(self._folder)
        guard.write(os.fsencode(path.name if path.parent == self._folder else path))
        fds = door.fileno(), guard.fileno(), server.fileno()
        said = self._hear(fds, [_python(), "-I", "-S", str(GUARDIAN), *self._words(fds, path)])
        if said and not said.endswith(READY):
            raise self._unreachable(
                f"it did not start: {said.decode(errors='replace').strip()}",
                f"see {self._folder / LOG}; if its data is damaged, move {self._folder / 'appendonlydir'} away",
            )
        return path if said else None

    def _place(self, guard: Latch) -> Path:
        """Where it listens; a mere name if it is in the folder, which others may know by another path."""
        return self._folder / os.fsdecode(guard.read())

    def _words(self, fds: tuple[int, int, int], path: Path) -> list[str]:
        settings = SETTINGS | {"dir": str(self._folder), "unixsocket": str(path)}
        server = [str(self._binary), *(word for name, value in settings.items() for word in (f"--{name}", value))]
        return [str(self._folder / USERS), str(self._folder / LOG), str(path), *map(str, fds), *server]

    def _hear(self, fds: tuple[int, int, int], words: list[str]) -> bytes:
        """What the guardian says until it has no more to say to us. It is nobody's child then."""
        try:
            with subprocess.Popen(  # noqa: S603 - our own words
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                pass_fds=fds,
                start_new_session=True,
            ) as process:
                return process.communicate(timeout=self._left)[0]
        except subprocess.TimeoutExpired:
            raise self._unreachable("it takes long to start", "ask again later") from None
        except OSError as error:
            raise self._unreachable(f"it cannot be started: {error.strerror}", "see what this machine lacks") from error

    def _taken(self, name: str, how: int, otherwise: str) -> Latch:
        latch = self._latch(name)
        try:
            self._take(latch, how, otherwise)
        except BaseException:
            latch.close()
            raise
        return latch

    def _take(self, latch: Latch, how: int, otherwise: str) -> None:
        try:
            if latch.take(how, self._left):
                return
        except (OSError, RuntimeError) as error:  # no locks, or no more threads
            otherwise = str(error)
        raise self._unreachable(otherwise, "end the programs that use it, and start them again")

    def _latch(self, name: str) -> Latch:
        try:
            return Latch(self._folder / name)
        except OSError as error:
            raise self._unreachable(str(error), "check its folder") from error

    def _answers(self, path: Path) -> bool:
        try:
            return answers(path, self._left)
        except OSError as error:
            why = error.strerror or str(error)
            raise self._unreachable(why, "look for a server that is stopped or overloaded") from error

    def _shut_down(self, path: Path) -> None:
        with suppress(OSError):
            shut_down(path, self._left)

    def _unreachable(self, why: str, fix: str) -> StoreUnreachable:
        return StoreUnreachable(self._url, after=time.monotonic() - self._began_at, why=why, fix=fix)

    @property
    def _left(self) -> float:
        return max(self._began_at + self._within - time.monotonic(), 0.0)


def _python() -> str:
    if not sys.executable or getattr(sys, "frozen", False):
        raise ConfigError(
            "no embedded Valkey: its guardian needs a Python program, and sys.executable names none; use sqlite://"
        )
    return sys.executable
