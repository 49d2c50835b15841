"""What people name on a command line by its module: `shop.jobs:d`."""

from __future__ import annotations

import os
from importlib import import_module

from dibs.errors import ConfigError
from dibs.model.value import value

EXAMPLE = "as in 'shop.jobs:d'"


@value
class Target:
    """Something in a module, by name."""

    module: str
    attribute: str

    @classmethod
    def of(cls, text: object, *, option: str = "") -> Target:
        """What a text names; `ConfigError` if it is none of the kind, with the option that said it."""
        module, colon, attribute = text.partition(":") if isinstance(text, str) else ("", "", "")
        if not colon or not _is_dotted(module) or not _is_dotted(attribute):
            said = f"{option}={text!r}" if option else repr(text)
            raise ConfigError(f"{said}: name a module and what is in it, {EXAMPLE}")
        return cls(module, attribute)

    def __str__(self) -> str:
        return f"{self.module}:{self.attribute}"

    def load(self) -> object:
        """Import the module, and give what is named."""
        found: object = self._import()
        for name in self.attribute.split("."):
            if not hasattr(found, name):
                raise ConfigError(f"{self}: the module {self.module!r} has no {self.attribute!r}; name what it has")
            found = getattr(found, name)
        return found

    def _import(self) -> object:
        try:
            return import_module(self.module)
        except ModuleNotFoundError as missing:
            if missing.name is None or not f"{self.module}.".startswith(f"{missing.name}."):
                raise ConfigError(f"{self}: {self.module!r} needs a module that is not there: {missing}") from missing
            raise ConfigError(
                f"{self}: no module {missing.name!r} is found in {os.getcwd()} or among what is installed; "  # noqa: PTH109 - see dibs.config.file
                "start it in the folder that has it, or set PYTHONPATH"
            ) from None
        except (ImportError, SyntaxError) as error:
            raise ConfigError(f"{self}: {self.module!r} cannot be imported: {error}") from error


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))
