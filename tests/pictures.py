"""Makes the pictures of fixtures/pictures that the README shows, from runs on the packaged cluster:

    python -m tests.pictures

`explain.svg` is a terminal, `simulate.png` a page in Chromium.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

PICTURES = Path(__file__).parent.parent / "fixtures" / "pictures"
DEMO = "ksched_cli/cli/demo_cluster.yaml"
COLUMNS = 100
TERMINAL = ("explain", "shop/db-0", "--from", DEMO)
PAGE = ("simulate", "--from", DEMO, "-o", "html")
_SIZE = (1280, 1000)
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def output(*arguments: str, colours: bool) -> str:
    """What a command writes, on a terminal of 100 columns if it has colours."""
    wish = {"FORCE_COLOR": "1"} if colours else {"NO_COLOR": "1"}
    settings = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR")}
    command = [sys.executable, "-m", "ksched_cli", *arguments]
    environment = {**settings, **wish, "COLUMNS": str(COLUMNS)}
    done = subprocess.run(
        command, cwd=PICTURES.parent.parent, env=environment, capture_output=True, text=True, check=False
    )
    # 1: pods have no node.
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return done.stdout


def terminal(*arguments: str) -> str:
    """The command and what it writes, as SVG."""
    written = Text.from_ansi(f"$ ksched {' '.join(arguments)}\n{output(*arguments, colours=True)}".rstrip())
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(written, soft_wrap=False)
    return console.export_svg(title="ksched", theme=DIMMED_MONOKAI, unique_id="ksched")


def _screenshot(page: Path, picture: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        found = os.environ.get("KSCHED_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), own)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": _SIZE[0], "height": _SIZE[1]})
        opened.goto(page.as_uri())
        opened.wait_for_load_state("networkidle")
        opened.screenshot(path=str(picture))
        browser.close()


def main() -> None:
    (PICTURES / "explain.svg").write_text(terminal(*TERMINAL), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(output(*PAGE, colours=False), encoding="utf-8")
        _screenshot(page, PICTURES / "simulate.png")


if __name__ == "__main__":
    main()
