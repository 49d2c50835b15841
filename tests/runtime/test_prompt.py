"""A future whose task goes on at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from dibs.runtime.prompt import Prompt

here: ContextVar[str] = ContextVar("here", default="nowhere")


def in_a_loop(play: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def test() -> None:
        asyncio.run(play())

    test.__name__ = play.__name__
    return test


async def started(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """A task that has come to its first await."""
    task = asyncio.create_task(work)
    await out_of_a_callback(lambda: None)  # which comes after its first step
    return task


async def out_of_a_callback(call: Callable[[], object]) -> None:
    """Do something where no task is running, and be told when it is done."""
    done, loop = asyncio.Event(), asyncio.get_running_loop()

    def callback() -> None:
        try:
            call()
        finally:
            done.set()

    loop.call_soon(callback)
    await done.wait()


@in_a_loop
async def test_its_task_has_gone_on_before_the_callback_that_settled_it_ends() -> None:
    answer, log = Prompt[str](), list[str]()

    async def wait() -> None:
        here.set("in the task")
        log.append(await answer)
        log.append(here.get())

    def settle() -> None:
        answer.set_result("so")
        log.append("settled")

    task = await started(wait())
    await out_of_a_callback(settle)
    await task
    assert log == ["so", "in the task", "settled"]


@in_a_loop
async def test_an_error_is_raised_where_it_is_awaited() -> None:
    answer = Prompt[str]()
    task = await started(_wait(answer))
    await out_of_a_callback(lambda: answer.set_exception(LookupError("gone")))
    with pytest.raises(LookupError, match="gone"):
        await task


@in_a_loop
async def test_out_of_another_task_it_waits_for_its_turn() -> None:
    answer, log = Prompt[str](), list[str]()

    async def wait() -> None:
        log.append(await answer)

    task = await started(wait())
    answer.set_result("so")
    log.append("settled")
    await task
    assert log == ["settled", "so"]


@in_a_loop
async def test_its_task_can_be_cancelled_and_so_can_it() -> None:
    answer = Prompt[str]()
    task = await started(_wait(answer))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert answer.cancelled()
    other = Prompt[str]()
    task = await started(_wait(other))
    await out_of_a_callback(other.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not other.cancel()


@in_a_loop
async def test_others_may_wait_for_it_too() -> None:
    answer = Prompt[str]()
    tasks = [await started(_wait(answer)) for _ in range(3)]
    waits = await started(asyncio.wait_for(answer, None))
    await out_of_a_callback(lambda: answer.set_result("so"))
    assert await asyncio.gather(*tasks, waits, answer) == ["so"] * 5


@in_a_loop
async def test_who_does_not_want_to_be_called_back_any_more_is_not() -> None:
    answer, log = Prompt[str](), list[object]()
    for context in (None, copy_context()):
        answer.add_done_callback(log.append, context=context)
        assert answer.remove_done_callback(log.append) == 1
    done, _ = await asyncio.wait([answer], timeout=0)
    assert not done
    answer.set_result("so")
    await out_of_a_callback(lambda: None)
    assert log == []


@in_a_loop
async def test_what_ends_the_program_in_its_task_comes_out_where_it_was_settled() -> None:
    answer = Prompt[str]()

    async def end() -> None:
        await answer
        raise SystemExit(3)

    task = await started(end())
    raised = list[BaseException]()

    def settle() -> None:
        try:
            answer.set_result("so")
        except SystemExit as error:
            raised.append(error)

    await out_of_a_callback(settle)
    assert [error.args for error in raised] == [(3,)]
    assert isinstance(task.exception(), SystemExit)


async def _wait(answer: asyncio.Future[str]) -> str:
    return await answer
