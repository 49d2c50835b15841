"""Rules as people write them, and as stores keep them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dibs.model.calendar.cron import FIELDS, ON_THE_MINUTE, Cron
from dibs.model.calendar.fields import shown
from dibs.model.calendar.interval import Every
from dibs.model.calendar.never import Never
from dibs.model.calendar.rule import Rule
from dibs.model.calendar.zones import zone
from dibs.model.duration import seconds as counted
from dibs.model.duration import spoken

LONGEST = 256
"""Characters in an expression."""
LONGEST_JITTER = 86400.0
MINUTES, SECONDS = 5, 6
"""How many fields there are, without seconds and with them."""
EVERY, REBOOT = "@every", "@reboot"
MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_KEPT = re.compile(r"(cron|every) (.+?)(?: jitter=(\S+))?")


def cron(expression: str, *, tz: str = "UTC", seconds: bool = False, jitter: object = 0.0) -> Rule:
    """The rule that the expression says; a `ValueError` says what is wrong with it, and what to write instead.

    With `seconds`, the first of six fields is the second.
    """
    words = _words(expression)
    put_off = _jitter(jitter)
    if words[0].lower() == EVERY:
        return Every(_period(" ".join(words[1:])), put_off)
    if words[0].startswith("@"):
        fields = [ON_THE_MINUTE, *_expanded(expression, words)]
    else:
        fields = words if seconds else [ON_THE_MINUTE, *words]
        _refuse_miscounted(expression, len(words), SECONDS if seconds else MINUTES)
    return _rule(expression, fields, tz=tz, jitter=put_off)


def every(period: object, *, jitter: object = 0.0) -> Rule:
    """The rule of that period; a `ValueError` says what is wrong with it."""
    return Every(_period(period), _jitter(jitter))


def rule_of(text: str) -> Rule:
    """The rule of which this is the `text`."""
    if not text:
        return Never()
    if not (kept := _KEPT.fullmatch(text)):
        raise ValueError(f"{shown(text)} is not the text of a rule: it begins with 'cron' or 'every'")
    kind, said, jitter = kept[1], kept[2], kept[3] or 0.0
    if kind == "every":
        return every(said, jitter=jitter)
    expression, _, tz = said.rpartition(" ")
    return cron(expression, tz=tz, seconds=expression.count(" ") == SECONDS - 1, jitter=jitter)


def _words(expression: object) -> list[str]:
    if not isinstance(expression, str):
        raise ValueError(f"cron {shown(expression)}: write the expression as text, such as '0 3 * * *'")
    if len(expression) > LONGEST:
        raise ValueError(f"cron {shown(expression)}: it has {len(expression)} characters; {LONGEST} are the most")
    if not expression.isascii():
        raise ValueError(f"cron {shown(expression)}: write it in plain ASCII, with the digits 0 to 9")
    if not (words := expression.split()):
        raise ValueError(f"cron {shown(expression)}: it is empty; write five fields, such as '0 3 * * *', or '@daily'")
    return words


def _expanded(expression: str, words: Sequence[str]) -> list[str]:
    macro = words[0].lower()
    if macro == REBOOT:
        raise ValueError(
            f"cron {shown(expression)}: a fleet has no one start; call the function when your program starts, under "
            "@d.once(…) if one machine is to do it"
        )
    if macro not in MACROS or len(words) > 1:
        known = ", ".join([*MACROS, f"{EVERY} 90s"])
        raise ValueError(f"cron {shown(expression)}: no such macro; there are {known}, each without further fields")
    return MACROS[macro].split()


def _refuse_miscounted(expression: str, count: int, wanted: int) -> None:
    if count == wanted:
        return
    if (count, wanted) == (SECONDS, MINUTES):
        advice = "pass seconds=True if the first is meant for seconds, or leave one out"
    elif (count, wanted) == (MINUTES, SECONDS):
        advice = f"with seconds=True the first of {SECONDS} is the second: put '0' before them for once a minute"
    else:
        advice = f"write {wanted}: {', '.join(field.name for field in FIELDS[-wanted:])}"
    raise ValueError(f"cron {shown(expression)}: it has {count} field{'s' if count > 1 else ''}; {advice}")


def _rule(expression: str, fields: Sequence[str], *, tz: str, jitter: float) -> Cron:
    try:
        marks = tuple(field.read(said) for field, said in zip(FIELDS, fields, strict=True))
    except ValueError as fault:
        raise ValueError(f"cron {shown(expression)}: {fault}") from None
    rule = Cron(marks, zone(tz), jitter)
    if not rule.days.is_possible:
        raise ValueError(
            f"cron {shown(expression)}: no month has such a day (day of month {shown(fields[3])}, month "
            f"{shown(fields[4])}, day of week {shown(fields[5])}); write 'L' for a month's last day"
        )
    return rule


def _period(said: object) -> float:
    return _whole_ms("every", said)


def _jitter(said: object) -> float:
    jitter = _whole_ms("jitter", said)
    if jitter > LONGEST_JITTER:
        raise ValueError(f"jitter={spoken(jitter)} is out of range; it goes up to {spoken(LONGEST_JITTER)}")
    return jitter


def _whole_ms(option: str, said: object) -> float:
    try:
        return round(counted(said), 3)
    except ValueError as fault:
        raise ValueError(f"{option}: {fault}") from None
