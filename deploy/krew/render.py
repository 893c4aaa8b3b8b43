"""The krew manifest of a release: `python deploy/krew/render.py HOMEPAGE BASE_URL ARCHIVE...` prints it.

HOMEPAGE is where people read about ksched, BASE_URL is where the archives can be downloaded. The manifest has the
checksums of the archives, one for each platform. All mistakes are reported together.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

TEMPLATE = Path(__file__).with_name("ksched.yaml")
# The version, the platform's and nothing else: the rest of the braces is YAML.
_SLOT = re.compile(r"\{(version|homepage|base|sha256_\w+)\}")
_ARCHIVE = re.compile(
    r"ksched-(?P<version>\d+\.\d+\.\d+([-+][\w.+-]+)?)-(?P<os>linux|darwin|windows)-(?P<arch>[a-z0-9]+)\.tar\.gz"
)
# An entry of `platforms` with its slot for a checksum.
_PLATFORM = re.compile(r"  - selector:\n(?:    .*\n?)+")


def render(homepage: str, base: str, archives: list[Path], *, partial: bool = False) -> str:
    """The manifest; SystemExit with all mistakes. `partial`: leave out the platforms that have no archive."""
    values = {"homepage": homepage, "base": base.rstrip("/")}
    problems = [f"{url}: not an https URL" for url in (homepage, base) if not url.startswith("https://")]
    for archive in archives:
        found = _ARCHIVE.fullmatch(archive.name)
        if found is None:
            problems.append(f"{archive}: not named ksched-VERSION-OS-ARCH.tar.gz")
            continue
        if values.setdefault("version", found["version"]) != found["version"]:
            problems.append(f"{archive}: not of version {values['version']}")
        try:
            values[f"sha256_{found['os']}_{found['arch']}"] = hashlib.sha256(archive.read_bytes()).hexdigest()
        except OSError as problem:
            problems.append(f"{archive}: {(problem.strerror or str(problem)).lower()}")
    template = TEMPLATE.read_text(encoding="utf-8")
    if partial:
        template = _PLATFORM.sub(
            lambda entry: entry[0] if set(_SLOT.findall(entry[0])) <= values.keys() else "", template
        )
    missing = sorted(set(_SLOT.findall(template)) - values.keys())
    problems += [f"no archive for {name.removeprefix('sha256_').replace('_', '/')}" for name in missing]
    if problems:
        raise SystemExit("\n".join(problems))
    return _SLOT.sub(lambda slot: values[slot[1]], template)


def main() -> None:
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    sys.stdout.write(render(sys.argv[1], sys.argv[2], [Path(each) for each in sys.argv[3:]]))


if __name__ == "__main__":
    main()
