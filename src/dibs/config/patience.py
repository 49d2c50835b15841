"""How long a silent store is borne, and who says so: by our own name for it, by Spring's, or in Redisson's manner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.config import settings
from dibs.config.sources import ENVIRONMENT, joined
from dibs.errors import ConfigError
from dibs.model.duration import spoken

if TYPE_CHECKING:
    from dibs.config.sources import Said, Sources

TIMEOUT, RETRY_ATTEMPTS, RETRY_INTERVAL = 3.0, 3, 1.5
"""What Redisson takes where only others of its three are said."""

_OF_REDISSON = (settings.REDISSON_TIMEOUT, settings.RETRY_ATTEMPTS, settings.RETRY_INTERVAL)


def named_patience(sources: Sources) -> tuple[float, str] | None:
    """What was said in the highest place, in seconds, and where; `None` if nothing was."""
    said = sources.said(settings.PATIENCE, settings.TIMEOUT)
    # In a file Redisson's word comes before Spring's, as it does for the address of the server.
    is_spring_s = said is not None and said.setting is settings.TIMEOUT and said.place != ENVIRONMENT
    if (said is None or is_spring_s) and (of_redisson := _said_to_redisson(sources)):
        return _by_redisson(sources, of_redisson)
    return None if said is None else (said.read(), said.source)


def _by_redisson(sources: Sources, said: list[Said[object]]) -> tuple[float, str]:
    """Redisson asks, and asks again after each interval: so long it takes until the last of its retries has failed."""
    timeout = sources.value(settings.REDISSON_TIMEOUT) or sources.value(settings.TIMEOUT) or TIMEOUT
    attempts, interval = sources.value(settings.RETRY_ATTEMPTS), sources.value(settings.RETRY_INTERVAL)
    retries = (RETRY_ATTEMPTS if attempts is None else attempts) * (RETRY_INTERVAL if interval is None else interval)
    if timeout + retries > settings.LONGEST_PATIENCE:
        raise ConfigError(
            f"{joined(said)}: a timeout of {spoken(timeout)} and {spoken(retries)} of retries are more than a silent "
            f"store can be borne; give less, up to {spoken(settings.LONGEST_PATIENCE)} together"
        )
    return timeout + retries, joined(said)


def _said_to_redisson(sources: Sources) -> list[Said[object]]:
    """What a file says of the three, if anything; Spring's timeout stands in for one that is not there."""
    said: list[Said[object]] = [found for setting in _OF_REDISSON for found in sources.in_file(setting)]
    if said and not sources.in_file(settings.REDISSON_TIMEOUT):
        return [*sources.in_file(settings.TIMEOUT), *said]
    return said
