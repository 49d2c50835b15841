"""Where something was said: in an argument, in the environment, in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dibs.config import ARGUMENT
from dibs.config.file import ConfigFile
from dibs.config.urls import HIDDEN
from dibs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.config.settings import Setting

T = TypeVar("T")

ENVIRONMENT = "environment"
LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Said:
    """A value as somebody wrote it, and where."""

    value: object
    place: str
    name: str

    @property
    def source(self) -> str:
        """Where it came from, as `Config.source` tells it."""
        return ARGUMENT if self.place == ARGUMENT else f"{self.place} {self.name}"

    def read(self, setting: Setting[T]) -> T:
        """What it means."""
        try:
            return setting.read(self.value)
        except ValueError as fault:
            shown = HIDDEN if setting.is_secret else _shown(self.value)
            raise ConfigError(f"{self.place} {self.name}={shown}: {fault}") from None


@dataclass(frozen=True, slots=True)
class Sources:
    """All that was said to one client."""

    arguments: Mapping[str, object]
    environment: Mapping[str, str]
    file: ConfigFile

    def said(self, *settings: Setting[T]) -> tuple[Setting[T], Said] | None:
        """Which of these settings was said in the highest place, and what."""
        for place in (self.in_arguments, self.in_environment, self.in_file):
            for setting in settings:
                for said in place(setting):
                    return setting, said
        return None

    def value(self, setting: Setting[T]) -> T | None:
        """What was said in the highest place, read."""
        found = self.said(setting)
        return None if found is None else found[1].read(setting)

    def in_arguments(self, setting: Setting[object]) -> list[Said]:
        """What the program says; `None` is nothing."""
        value = self.arguments.get(setting.name)
        return [] if value is None else [Said(value, ARGUMENT, setting.name)]

    def in_environment(self, setting: Setting[object]) -> list[Said]:
        """What the variables say, the first of them first. A blank one says nothing; a password keeps its blanks."""
        found = ((name, self.environment.get(name, "")) for name in setting.variables)
        said = [(name, text) for name, text in found if text.strip()]
        return [Said(text if setting.is_verbatim else text.strip(), ENVIRONMENT, name) for name, text in said]

    def in_file(self, setting: Setting[object]) -> list[Said]:
        """What the file says."""
        found = (self.file.found(key) for key in setting.keys)
        return [Said(entry[1], f"file {self.file.label}, key", entry[0]) for entry in found if entry is not None]


def joined(said: Sequence[Said]) -> str:
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
