"""Tests of the memory, which a run without it leaves out."""

from __future__ import annotations

import os

collect_ignore_glob = ["test_*.py"] if os.environ.get("KSCHED_NO_REUSE") else []
