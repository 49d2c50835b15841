"""The file that configures us: where it is, and what it says."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dibs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAMED_BY = "DIBS_CONFIG"
NAMES = ("dibs.toml", "pyproject.toml", "dibs.yaml", "dibs.yml", "application.yaml", "application.yml")
"""What is looked for in every folder, in this order."""

_OF_SPRING = re.compile(rb"^[\"']?(?:dibs|redis|redisson|workflow)\b", re.MULTILINE)
_MENTIONS = {
    "pyproject.toml": re.compile(rb"tool[\"']?\s*\.\s*[\"']?dibs\b|^\s*\[\s*[\"']?tool[\"']?\s*\]", re.MULTILINE),
    "application.yaml": _OF_SPRING,
    "application.yml": _OF_SPRING,
}
"""What a file of others says if it is for us, too: most are not, and need not be understood."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What one file says, by our names of the keys: each as it was written there, with its value."""

    label: str = ""
    entries: Mapping[str, tuple[str, object]] = field(default_factory=dict[str, tuple[str, object]])
    notices: tuple[str, ...] = ()

    def found(self, key: str) -> tuple[str, object] | None:
        """The key as it was written, and its value; an empty one in YAML says nothing."""
        entry = self.entries.get(key)
        return None if entry is None or entry[1] is None else entry


def config_file(environment: Mapping[str, str]) -> ConfigFile:
    """The file that DIBS_CONFIG names, else the first one that is for us, from this folder upwards."""
    if named := environment.get(NAMED_BY, "").strip():
        return ConfigFile() if named == os.devnull else _read(named, _content(named), named, environment=environment)
    for path, label in _candidates():
        content = _content(path)
        mention = _MENTIONS.get(os.path.basename(path))
        if mention is not None and not mention.search(content):
            continue
        if _is_planted(path):
            return ConfigFile(notices=(f"file {path} is ignored: it is another user's, in a folder open to all",))
        file = _read(path, content, label, environment=environment)
        if mention is None or file.entries or file.notices:
            return file
    return ConfigFile()


def _candidates() -> Iterator[tuple[str, str]]:
    """Each file that is there, with what it is called: its name if it is in this folder, else its path."""
    try:
        here = folder = os.getcwd()
    except OSError:  # it was deleted
        return
    while True:
        for name in NAMES:
            path = os.path.join(folder, name)
            if _is_there(path):
                yield path, name if folder == here else path
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _is_there(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # there is none, or we may not look
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _is_planted(path: str) -> bool:
    """Whether another user may have put it in our way, where everybody may put things: in /tmp, say."""
    if not hasattr(os, "geteuid"):
        return False
    is_open = os.stat(os.path.dirname(path)).st_mode & stat.S_IWOTH
    return bool(is_open) and os.stat(path).st_uid not in {0, os.geteuid()}


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        why = "it is a folder" if isinstance(error, IsADirectoryError) else getattr(error, "strerror", None) or error
        raise ConfigError(f"file {path}: {why}; give one that can be read, or name another with {NAMED_BY}") from None


def _read(path: str, content: bytes, label: str, *, environment: Mapping[str, str]) -> ConfigFile:
    from dibs.config.layout import understood  # noqa: PLC0415 - only who has a file pays for it

    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"file {label} is not written in UTF-8, in line {line}: save it as UTF-8") from None
    entries, notices = understood(path, text, label, environment=environment)
    return ConfigFile(label, entries, tuple(notices))
