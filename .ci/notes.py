"""The changelog's entry of a tag, for the page of the release: `python .ci/notes.py v1.2.3` prints it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parent.parent / ".github" / "CHANGELOG.md"


def release_notes(changelog: str, tag: str) -> str:
    found = re.search(
        rf"^## \[{re.escape(tag.removeprefix('v'))}\].*\n(?P<text>[\s\S]*?)(?=^## |\Z)", changelog, re.MULTILINE
    )
    if found is None:
        raise SystemExit(f"the changelog has no entry for {tag}")
    return found["text"].strip()


if __name__ == "__main__":
    print(release_notes(CHANGELOG.read_text(encoding="utf-8"), sys.argv[1]))
