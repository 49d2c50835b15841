"""TOML and YAML as dotted keys. What is wrong in them is told by its line, without a word of what stands there."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeGuard

from dibs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    Table = Mapping[Any, Any]

DEEPEST = 5
"""How many words our longest keys have, and one for the section they may be in."""
INSTALL = "install the extra: pip install 'dibs-lock[yaml]' (or '.[yaml]' in a clone), or write it as dibs.toml"


def toml_table(text: str, label: str) -> Table:
    """The one table that a TOML file is."""
    import tomllib  # noqa: PLC0415 - only who has a file pays for it

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"file {label} is not written as TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"file {label} is nested too deeply") from None


def yaml_tables(text: str, label: str) -> list[Table]:
    """The tables of a YAML file: one for each of its documents that says anything."""
    try:
        yaml: Any = import_module("yaml")
    except ModuleNotFoundError:
        raise ConfigError(f"file {label} needs PyYAML: {INSTALL}") from None
    try:
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f", in line {mark.line + 1}"
        raise ConfigError(f"file {label} is not written as YAML{line}") from None
    for document in documents:
        if not is_table(document):
            raise ConfigError(f"file {label} is no table but a {type(document).__name__}: write 'key: value' in it")
    return documents


def is_table(value: object) -> TypeGuard[Table]:
    """Whether it holds keys of its own."""
    return isinstance(value, dict)


def flat(table: Table, depth: int = DEEPEST) -> dict[str, object]:
    """A tree of tables as dotted keys. What is nested deeper than any key of ours is not looked into."""
    found: dict[str, object] = {}
    for name, value in table.items():
        if is_table(value) and depth > 1:
            found |= {f"{name}.{key}": inner for key, inner in flat(value, depth - 1).items()}
        else:
            found[str(name)] = value
    return found
