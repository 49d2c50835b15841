"""Which store was named, and by whom: by a URL, by its pieces, or by a switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dibs.config import settings, values
from dibs.config.sources import ENVIRONMENT, joined
from dibs.config.urls import Login, assembled, is_embedded, with_login
from dibs.stores import EMBEDDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.config.sources import Said, Sources

HOST, PORT = "localhost", 6379

_SWITCHES = (settings.REDIS_ENABLED, settings.REDISSON_ENABLED)


@dataclass(frozen=True, slots=True)
class Named:
    """A store's URL, and where it came from."""

    url: str
    source: str


def named_store(sources: Sources) -> Named | None:
    """The store that was named in the highest place where one was; `None` if none was."""
    return _by_environment(sources) or _by_file(sources) or _by_hints(sources)


def _by_environment(sources: Sources) -> Named | None:
    """Off is off; else a whole URL comes before pieces."""
    urls = sources.in_environment(settings.URL)
    pieces: list[Said[object]] = [*sources.in_environment(settings.HOST), *sources.in_environment(settings.PORT)]
    if off := [said for switch in _SWITCHES for said in sources.in_environment(switch) if not said.read()]:
        return _without_redis(off[0], urls, pieces)
    if urls:
        return Named(urls[0].read(), _over(urls[0], [*urls[1:], *pieces]))
    return _by_pieces(sources) if any(_injected(said) is None for said in pieces) else None


def _by_file(sources: Sources) -> Named | None:
    """The same in a file. Who we are to the server may be said elsewhere: a password belongs into no file."""
    urls = [*sources.in_file(settings.URL), *sources.in_file(settings.ADDRESS)]
    pieces: list[Said[object]] = [*sources.in_file(settings.HOST), *sources.in_file(settings.PORT)]
    if off := [said for said in _switched(sources) if not said.read()]:
        return _without_redis(off[0], urls, pieces)
    if not urls:
        return _by_pieces(sources) if pieces else None
    url, (login, said_of_login) = urls[0].read(), _login(sources)
    whole = with_login(url, login)
    return Named(whole, joined([urls[0], *said_of_login] if whole != url else urls[:1]))


def _by_hints(sources: Sources) -> Named | None:
    """What names no server may still say that there is one: a switch, a password, a service Kubernetes tells of."""
    is_on = any(said.read() for said in _switched(sources))
    is_injected = any(_injected(said) for said in sources.in_environment(settings.PORT))
    has_password = bool(sources.value(settings.PASSWORD))
    return _by_pieces(sources) if is_on or is_injected or has_password else None


def _without_redis(off: Said[bool], urls: Sequence[Said[str]], pieces: Sequence[Said[object]]) -> Named:
    """Redis is switched off: an embedded store that was named is taken, else the default one."""
    for said in urls:
        if is_embedded(url := said.read()):
            return Named(url, said.source)
    return Named(EMBEDDED, _over(off, [*urls, *pieces]))


def _by_pieces(sources: Sources) -> Named:
    """Its host, its port, and who we are to it, from wherever each was said."""
    host, port, said_of_place = _place(sources)
    login, said_of_login = _login(sources)
    said = [*said_of_place, *said_of_login]
    return Named(assembled(host, port, login=login), joined(said or _switched(sources)))


def _place(sources: Sources) -> tuple[str, int, list[Said[object]]]:
    """What is not said is localhost:6379. What Kubernetes told counts where no person said anything else."""
    host, ports = sources.said(settings.HOST), [*sources.in_environment(settings.PORT), *sources.in_file(settings.PORT)]
    port = next((said for said in ports if _injected(said) is None), None)
    said: list[Said[object]] = [one for one in (host, port) if one is not None]
    its_host, its_port = HOST, PORT
    if port is None and ports and (host is None or host.place == ENVIRONMENT):
        its_host, its_port = _injected(ports[0]) or (HOST, PORT)
        said.append(ports[0])
    return host.read() if host else its_host, port.read() if port else its_port, said


def _injected(said: Said[object]) -> tuple[str, int] | None:
    """Host and port, if that is what Kubernetes made of a service called redis, and nobody's own words."""
    is_port = said.setting is settings.PORT and said.place == ENVIRONMENT
    return values.injected(said.value) if is_port else None


def _login(sources: Sources) -> tuple[Login, list[Said[object]]]:
    username, password = sources.value(settings.USERNAME), sources.value(settings.PASSWORD)
    found = [sources.said(setting) for setting in (settings.USERNAME, settings.PASSWORD, settings.DATABASE)]
    said: list[Said[object]] = [one for one in found if one is not None]
    return Login(username, password, sources.value(settings.DATABASE)), said


def _switched(sources: Sources) -> list[Said[bool]]:
    """What the switches say, each in the highest place where it says anything."""
    return [said for switch in _SWITCHES if (said := sources.said(switch)) is not None]


def _over(said: Said[object], others: Sequence[Said[object]]) -> str:
    """Its source, and what else was said there in vain."""
    over = f" (over {', '.join(other.name for other in others)})" if others else ""
    return f"{said.source}{over}"
