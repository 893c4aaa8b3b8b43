"""A buffer for tables that are not printed to a terminal."""

from __future__ import annotations

import io


class PlainText(io.StringIO):
    """Collects tables without colours, even if FORCE_COLOR is set."""
