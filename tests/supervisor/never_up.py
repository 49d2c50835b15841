"""What cannot be served: its process ends while it is imported."""

from __future__ import annotations

import os

os._exit(3)
