"""A thread that does what was posted on a line."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar
from weakref import WeakMethod, finalize

from dibs.model.request import PATIENCE

PostT = TypeVar("PostT")


class Poster(Generic[PostT]):
    """Does one after another, in their order. The thread is started when there is something to do.

    It knows whose it is only weakly: a line that nobody uses any more can be collected, and takes it with it.
    """

    def __init__(self, carry_out: Callable[[PostT], None]) -> None:
        self._carry_out = WeakMethod(carry_out)
        self._posts: SimpleQueue[PostT | None] | None = None
        self._starting = threading.RLock()  # a signal's handler may come here while its own thread does

    def put(self, post: PostT) -> None:
        """Have it done; `RuntimeError` if there can be no thread for it."""
        posts = self._posts or self._start()
        posts.put(post)

    def close(self) -> None:
        """Wait until all of it is done."""
        if self._posts is not None:
            self._posts.put(None)
            if self._thread is not threading.current_thread():
                self._thread.join(PATIENCE)

    def abandon(self) -> None:
        """In a forked child: the thread is the parent's."""
        self._posts, self._starting = None, threading.RLock()

    def _start(self) -> SimpleQueue[PostT | None]:
        with self._starting:
            if self._posts is None:
                posts = SimpleQueue[PostT | None]()
                work = (posts, self._carry_out)
                self._thread = threading.Thread(target=_work, args=work, name="dibs-line", daemon=True)
                self._thread.start()
                finalize(self, posts.put, None).atexit = False
                self._posts = posts
            return self._posts


def _work(posts: SimpleQueue[PostT | None], known: WeakMethod[Callable[[PostT], None]]) -> None:
    while (post := posts.get()) is not None and (carry_out := known()) is not None:
        carry_out(post)
        del carry_out, post
