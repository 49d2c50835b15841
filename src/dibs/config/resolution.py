"""From all that was said to one `Config`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dibs.config import ARGUMENT, DEFAULT, Config, settings
from dibs.config.file import config_file
from dibs.config.patience import named_patience
from dibs.config.sources import Sources
from dibs.config.store import named_store
from dibs.stores import EMBEDDED

if TYPE_CHECKING:
    from collections.abc import Mapping

_PUT_TOGETHER = (settings.URL, settings.PATIENCE)
"""What can be said in several ways."""


def resolved(
    arguments: Mapping[str, object], environment: Mapping[str, str] = os.environ
) -> tuple[Config, tuple[str, ...]]:
    """What holds, and what is to be told of it: an argument before the environment before a file before a default."""
    sources = Sources(arguments, environment, config_file(environment))
    told: dict[str, object] = {"url": EMBEDDED}
    where = {"url": DEFAULT}
    for setting in settings.OWN:
        if setting not in _PUT_TOGETHER and (said := sources.said(setting)):
            told[setting.name], where[setting.name] = said.read(), said.source
    if patience := named_patience(sources):
        told["patience"], where["patience"] = patience
    _name_store(sources, told, where)
    return Config(**told, sources=tuple(where.items())), sources.file.notices  # type: ignore[arg-type]


def _name_store(sources: Sources, told: dict[str, object], where: dict[str, str]) -> None:
    if said := sources.in_arguments(settings.URL):
        is_text = isinstance(said[0].value, str)  # else it is a client of the caller's own
        told["url"], where["url"] = said[0].read() if is_text else None, ARGUMENT
    elif named := named_store(sources):
        told["url"], where["url"] = named.url, named.source
