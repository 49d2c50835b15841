"""How each kind of file is laid out, and where in it our settings are."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from dibs.config.keys import accepted, accepted_among_others
from dibs.config.markup import flat, is_table, toml_table, yaml_tables
from dibs.config.redisson import opened
from dibs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.config.keys import Entries

SECTION = "tool.dibs."

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_.-]*)(?::([^}]*))?\}")
_PROFILES = ("spring.profiles", "spring.config.activate.on-profile")


def understood(path: str, text: str, label: str, *, environment: Mapping[str, str]) -> tuple[Entries, list[str]]:
    """What a file says, and what is to be told of it."""
    name, kind = PurePath(path.lower()).stem, PurePath(path.lower()).suffix
    if kind == ".toml" and name == "pyproject":
        return _section(text, label)
    if kind == ".toml":
        return accepted(opened(flat(toml_table(text, label)), label), label)
    if kind in {".yaml", ".yml"} and name.startswith("application"):
        return accepted_among_others(_application(text, label, environment), label)
    if kind in {".yaml", ".yml"}:
        return accepted(opened(_merged(text, label), label), label)
    raise ConfigError(f"file {label}: nobody can tell how it is written; give it a name that ends in .toml or .yaml")


def _section(text: str, label: str) -> tuple[Entries, list[str]]:
    """Our section of a pyproject.toml."""
    tool = toml_table(text, label).get("tool")
    section = tool.get("dibs") if is_table(tool) else None
    if section is None:
        return {}, []
    if not is_table(section):
        raise ConfigError(f"file {label}, key tool.dibs is no table: write [tool.dibs] and the settings below it")
    return accepted(opened(flat(section), label), label, section=SECTION)


def _merged(text: str, label: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for table in yaml_tables(text, label):
        found |= flat(table)
    return found


def _application(text: str, label: str, environment: Mapping[str, str]) -> dict[str, object]:
    """A file of Spring's: the documents that hold for every profile, with what the environment fills in."""
    found: dict[str, object] = {}
    for table in yaml_tables(text, label):
        keys = flat(table)
        if not any(key.startswith(_PROFILES) for key in keys):
            found |= keys
    ours = {key: value for key, value in found.items() if key.startswith(("dibs.", "redis.", "redisson.", "workflow."))}
    filled = {key: _filled(value, f"file {label}, key {key}", environment) for key, value in ours.items()}
    return opened(filled, label)


def _filled(value: object, where: str, environment: Mapping[str, str]) -> object:
    """A value with `${NAME:default}` in it, as Spring fills it from the environment."""

    def fill(found: re.Match[str]) -> str:
        name, default = found.groups()
        said = environment.get(name) or environment.get(re.sub("[.-]", "_", name).upper()) or default
        if said is None:
            raise ConfigError(
                f"{where}: nothing fills ${{{name}}}; set {name} in the environment, or say ${{{name}:...}}"
            )
        return str(said)

    return _PLACEHOLDER.sub(fill, value) if isinstance(value, str) else value
