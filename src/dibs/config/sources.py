"""Where something was said: in an argument, in the environment, in a file."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Generic, TypeVar

from dibs.config import ARGUMENT
from dibs.config.file import ConfigFile
from dibs.config.urls import HIDDEN
from dibs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.config.settings import Setting

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

ENVIRONMENT = "environment"
LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Said(Generic[T_co]):
    """A value as somebody wrote it, and where."""

    setting: Setting[T_co]
    value: object
    place: str
    name: str

    @property
    def source(self) -> str:
        """Where it came from, as `Config.source` tells it."""
        return ARGUMENT if self.place == ARGUMENT else f"{self.place} {self.name}"

    def read(self) -> T_co:
        """What it means."""
        try:
            return self.setting.read(self.value)
        except ValueError as fault:
            shown = HIDDEN if self.setting.is_secret else _shown(self.value)
            raise ConfigError(f"{self.place} {self.name}={shown}: {fault}") from None


@dataclass(frozen=True, slots=True)
class Sources:
    """All that was said to one client."""

    arguments: Mapping[str, object]
    environment: Mapping[str, str]
    file: ConfigFile

    def said(self, *settings: Setting[T]) -> Said[T] | None:
        """What was said of these settings in the highest place; of the first of them, if of several."""
        by_place = chain(
            (said for setting in settings for said in self.in_arguments(setting)),
            (said for setting in settings for said in self.in_environment(setting)),
            (said for setting in settings for said in self.in_file(setting)),
        )
        return next(by_place, None)

    def value(self, setting: Setting[T]) -> T | None:
        """What was said in the highest place, read."""
        said = self.said(setting)
        return None if said is None else said.read()

    def in_arguments(self, setting: Setting[T]) -> list[Said[T]]:
        """What the program says; `None` is nothing."""
        value = self.arguments.get(setting.name)
        return [] if value is None else [Said(setting, value, ARGUMENT, setting.name)]

    def in_environment(self, setting: Setting[T]) -> list[Said[T]]:
        """What the variables say, the first of them first. A blank one says nothing; a password keeps its blanks."""
        found = ((name, self.environment.get(name, "")) for name in setting.variables)
        said = [(name, text) for name, text in found if text.strip()]
        return [Said(setting, text if setting.is_verbatim else text.strip(), ENVIRONMENT, name) for name, text in said]

    def in_file(self, setting: Setting[T]) -> list[Said[T]]:
        """What the file says."""
        found = (self.file.found(key) for key in setting.keys)
        place = f"file {self.file.label}, key"
        return [Said(setting, entry[1], place, entry[0]) for entry in found if entry is not None]


def joined(said: Sequence[Said[object]]) -> str:
    """All the sources of what is put together, each place once."""
    names: dict[str, list[str]] = {}
    for one in said:
        names.setdefault(one.place, []).append(one.name)
    return " and ".join(f"{place} {', '.join(these)}" for place, these in names.items())


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write out numbers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
