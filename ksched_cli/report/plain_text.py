"""Tables as text that no terminal reads."""

from __future__ import annotations

import io


class PlainText(io.StringIO):
    """Collects tables without colours, also where FORCE_COLOR wants them on terminals."""
