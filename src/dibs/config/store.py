"""Which store was named, and by whom: by a URL, by its pieces, or by a switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dibs.config import settings, values
from dibs.config.sources import ENVIRONMENT, joined
from dibs.config.urls import Login, assembled, is_embedded, with_login
from dibs.stores import EMBEDDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    urls = [(said.read(settings.URL), said) for said in sources.in_environment(settings.URL)]
    pieces = [said for setting in (settings.HOST, settings.PORT) for said in sources.in_environment(setting)]
    if off := [said for switch in _SWITCHES for said in sources.in_environment(switch) if not said.read(switch)]:
        return _without_redis(off[0], urls, pieces)
    if urls:
        return Named(urls[0][0], _over(urls[0][1], [*(said for _, said in urls[1:]), *pieces]))
    return _by_pieces(sources) if any(_injected(said) is None for said in pieces) else None


def _by_file(sources: Sources) -> Named | None:
    """The same in a file. Who we are to the server may be said elsewhere: a password belongs into no file."""
    urls = [(said.read(kind), said) for kind in (settings.URL, settings.ADDRESS) for said in sources.in_file(kind)]
    pieces = [said for setting in (settings.HOST, settings.PORT) for said in sources.in_file(setting)]
    if off := [found[1] for switch in _SWITCHES if (found := sources.said(switch)) and not found[1].read(switch)]:
        return _without_redis(off[0], urls, pieces)
    if not urls:
        return _by_pieces(sources) if pieces else None
    url, said = urls[0]
    login, said_of_login = _login(sources)
    whole = with_login(url, login)
    return Named(whole, joined([said, *said_of_login] if whole != url else [said]))


def _by_hints(sources: Sources) -> Named | None:
    """What names no server may still say that there is one: a switch, a password, a service Kubernetes tells of."""
    is_on = any(sources.value(switch) for switch in _SWITCHES)
    is_injected = any(_injected(said) for said in sources.in_environment(settings.PORT))
    has_password = bool(sources.value(settings.PASSWORD))
    return _by_pieces(sources) if is_on or is_injected or has_password else None


def _without_redis(off: Said, urls: Iterable[tuple[str, Said]], pieces: Sequence[Said]) -> Named:
    """Redis is switched off: an embedded store that was named is taken, else the default one."""
    for url, said in urls:
        if is_embedded(url):
            return Named(url, said.source)
    return Named(EMBEDDED, _over(off, [*(said for _, said in urls), *pieces]))


def _by_pieces(sources: Sources) -> Named:
    """Its host, its port, and who we are to it, from wherever each was said."""
    host, port, said_of_place = _place(sources)
    login, said_of_login = _login(sources)
    said = [*said_of_place, *said_of_login]
    return Named(assembled(host, port, login=login), joined(said or _switched_on(sources)))


def _place(sources: Sources) -> tuple[str, int, list[Said]]:
    """What is not said is localhost:6379. What Kubernetes told counts where no person said anything else."""
    host = next(iter([*sources.in_environment(settings.HOST), *sources.in_file(settings.HOST)]), None)
    ports = [*sources.in_environment(settings.PORT), *sources.in_file(settings.PORT)]
    port = next((said for said in ports if _injected(said) is None), None)
    said = [one for one in (host, port) if one is not None]
    its_host, its_port = HOST, PORT
    if port is None and ports and (host is None or host.place == ENVIRONMENT):
        its_host, its_port = _injected(ports[0]) or (HOST, PORT)
        said.append(ports[0])
    return host.read(settings.HOST) if host else its_host, port.read(settings.PORT) if port else its_port, said


def _injected(port: Said) -> tuple[str, int] | None:
    """Host and port, if that is what Kubernetes made of a service called redis, and nobody's own words."""
    return values.injected(port.value) if port.place == ENVIRONMENT else None


def _login(sources: Sources) -> tuple[Login, list[Said]]:
    username, password = sources.value(settings.USERNAME), sources.value(settings.PASSWORD)
    login = Login(username, password, sources.value(settings.DATABASE))
    found = [sources.said(setting) for setting in (settings.USERNAME, settings.PASSWORD, settings.DATABASE)]
    return login, [one[1] for one in found if one is not None]


def _switched_on(sources: Sources) -> list[Said]:
    return [found[1] for switch in _SWITCHES if (found := sources.said(switch)) is not None]


def _over(said: Said, others: Sequence[Said]) -> str:
    """Its source, and what else was said there in vain."""
    over = f" (over {', '.join(other.name for other in others)})" if others else ""
    return f"{said.source}{over}"
