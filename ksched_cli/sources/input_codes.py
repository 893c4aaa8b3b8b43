"""Reason codes of mistakes in manifests. Their meaning and advice are in the table of codes."""

from __future__ import annotations

UNREADABLE = "KS001"
INVALID = "KS002"
DUPLICATE = "KS003"
UNKNOWN_KIND = "KS004"
REMOVED_VERSION = "KS005"
UNKNOWN_WORKLOAD = "KS006"
SKIPPED = "KS007"
NOT_RENDERED = "KS008"
UNKNOWN_NAMESPACE = "KS009"
NOTHING_CHECKED = "KS010"
NOT_RUN = "KS011"
UNKNOWN_FIELD = "KS012"
IMMUTABLE = "KS013"
