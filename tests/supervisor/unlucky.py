"""What cannot be imported, as it needs a module that is not there."""

from __future__ import annotations

import no_such_module_at_all  # type: ignore[import-not-found]  # noqa: F401
