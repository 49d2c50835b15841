"""Functions that run once a window, and those that several callers share one run of."""

from __future__ import annotations

from datetime import tzinfo
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Literal, Unpack

from dibs.admission import Manner
from dibs.errors import ConfigError
from dibs.locked import Locked, Locks, Skips, finished, for_methods_too, refuse_nameless
from dibs.model.duration import Duration, seconds
from dibs.options import JobOptions, LockOptions, refuse_unknown, yes_or_no

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.model.template import Args, Kwargs
    from dibs.model.window import Window
    from dibs.turn import Errand, Turn

_BESIDE, _BUT = frozenset({"per", "remember", "since", "tz"}), frozenset({"at_least"})
"""What can be said of `once` beside a lock's own keywords, and which of these cannot where work is remembered."""

SHORTEST_MEMORY, MEMORY = 60.0, 10
"""How long a shared result is kept for those who wait for it: so many seconds, or so many TTLs if that is longer."""


class Remembering(Locked):
    """What a client does for functions whose work may be done already."""

    def once(
        self,
        template: str,
        *,
        per: Duration,
        tz: str | tzinfo | None = None,
        since: Literal["success"] | None = None,
        remember: bool = False,
        **options: Unpack[JobOptions],
    ) -> Skips:
        """A decorator: one call a window succeeds, and others are skipped: `@d.once("digest:{user_id}", per="1d")`.

        For `def` and `async def`. Windows are of the calendar, in UTC or the time zone `tz`; with `since="success"`
        they begin with each success. With `remember=True`, who comes too late gets the result, as JSON keeps it.
        """
        from dibs.turn import Once  # noqa: PLC0415 - needed by few

        on_outage = options.get("on_outage") or self._engine.detours.on_outage
        manner = Manner("skip", skips_outage=on_outage == "skip")
        errand = Once(manner, _windows(per, tz, since), yes_or_no("remember", remember))
        terms = self._memorable_terms(template, manner, options, beside=_BESIDE)
        return for_methods_too(partial(self._by_turns, template, errand, terms))

    def shared(self, template: str, **options: Unpack[LockOptions]) -> Locks:
        """A decorator: of those who call at the same time one runs, and all get its result: `@d.shared("rates:{day}")`.

        For `def` and `async def`. The others wait, anywhere in the fleet, and get the result as JSON keeps it. If that
        run fails, the next of them runs. Who comes after it has ended begins another.
        """
        from dibs.turn import Shared  # noqa: PLC0415 - needed by few

        manner = Manner("raise")
        terms = self._memorable_terms(template, manner, {**options})
        kept_for = max(MEMORY * seconds(terms.get("ttl")), SHORTEST_MEMORY)
        return for_methods_too(partial(self._by_turns, template, Shared(manner, kept_for), terms))

    def _memorable_terms(
        self, template: str, manner: Manner, options: JobOptions, *, beside: frozenset[str] = frozenset()
    ) -> JobOptions:
        refuse_nameless(template)
        if "at_least" in options:
            raise ConfigError(
                f"at_least={options['at_least']!r}: work that is remembered ends its lock when it is done, and what is "
                "remembered says for how long it is not done again; leave it out"
            )
        refuse_unknown(options, beside=beside, but=_BUT)
        return self._terms(manner, options)

    def _by_turns(
        self, text: str, errand: Errand, options: JobOptions, function: Callable[..., Any]
    ) -> Callable[..., Any]:
        from dibs.turn import Glance, Turn  # noqa: PLC0415 - needed by few

        about, lock = self._locks_of(text, function, options)
        glance = Glance(*self._glance(errand.manner, options))

        def turn(args: Args, kwargs: Kwargs) -> Turn:
            return Turn(self._engine, lock(args, kwargs), errand, function=about.name, glance=glance)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with (mine := turn(args, kwargs)) as found:
                return mine.noted(finished(function(*args, **kwargs))) if found is None else found.value

        @wraps(function)
        async def acall(*args: Any, **kwargs: Any) -> Any:
            async with (mine := turn(args, kwargs)) as found:
                return mine.noted(await function(*args, **kwargs)) if found is None else found.value

        return acall if about.is_async else call

    def _glance(self, manner: Manner, options: JobOptions) -> tuple[float | None, bool]:
        """How long a look may take, and whether silence of the store is told."""
        on_outage, wait = options.get("on_outage") or self._engine.detours.on_outage, options.get("wait")
        is_closed = on_outage == "closed" or (on_outage == "skip" and not manner.skips_outage)
        return None if wait is None else seconds(wait), is_closed


def _windows(per: object, tz: object, since: object) -> Window:
    from dibs.model.window import window  # noqa: PLC0415 - needed by few

    try:
        return window(per, tz=_zone(tz), since=since)
    except ValueError as fault:
        raise ConfigError(str(fault)) from None


def _zone(tz: object) -> tzinfo | None:
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - needed by few

    if tz is None or isinstance(tz, tzinfo):
        return tz
    try:
        return ZoneInfo(tz)  # type: ignore[arg-type]  # whatever it is, it says what is wrong
    except (KeyError, ValueError, TypeError, AttributeError, OSError):
        raise ConfigError(
            f"tz={tz!r}: no such time zone is known here; name one as in 'Europe/Berlin', or install tzdata if this "
            "system has none"
        ) from None
