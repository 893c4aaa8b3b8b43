"""The krew manifest, by the rules that krew itself checks (pkg/index/validation)."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.scripts import script

ROOT = Path(__file__).parents[2]
PLATFORMS = ("linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64")
HOMEPAGE, BASE = "https://ksched.example.com", "https://ksched.example.com/releases/v1.2.3/"


def archives(folder: Path, version: str = "1.2.3") -> list[Path]:
    made = []
    for platform in PLATFORMS:
        path = folder / f"ksched-{version}-{platform}.tar.gz"
        path.write_bytes(platform.encode())
        made.append(path)
    return made


def test_the_manifest_is_one_that_krew_accepts(tmp_path: Path) -> None:
    manifest = yaml.safe_load(script("deploy/krew/render.py").render(HOMEPAGE, BASE, archives(tmp_path)))
    assert set(manifest) == {"apiVersion", "kind", "metadata", "spec"}
    assert (manifest["apiVersion"], manifest["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert manifest["metadata"] == {"name": "ksched"}
    spec = manifest["spec"]
    assert set(spec) <= {"version", "homepage", "shortDescription", "description", "caveats", "platforms"}
    assert re.fullmatch(r"v\d+\.\d+\.\d+", spec["version"])
    assert spec["homepage"] == HOMEPAGE
    assert "\n" not in spec["shortDescription"]
    assert 0 < len(spec["shortDescription"]) <= 50
    assert spec["description"].strip()
    assert len(spec["platforms"]) == len(PLATFORMS)
    for platform in spec["platforms"]:
        assert set(platform) <= {"selector", "uri", "sha256", "bin", "files"}
        labels = platform["selector"]["matchLabels"]
        name = f"{labels['os']}-{labels['arch']}"
        assert name in PLATFORMS
        assert platform["uri"] == f"https://ksched.example.com/releases/v1.2.3/ksched-1.2.3-{name}.tar.gz"
        assert platform["sha256"] == hashlib.sha256(name.encode()).hexdigest()
        assert platform["bin"] == "kubectl-ksched"
    selected = [tuple(sorted(each["selector"]["matchLabels"].items())) for each in spec["platforms"]]
    assert len(set(selected)) == len(selected)


@pytest.mark.parametrize(
    ("homepage", "change", "expected"),
    [
        pytest.param("http://x", lambda found: found, ["http://x: not an https URL"], id="no https"),
        pytest.param(HOMEPAGE, lambda found: found[1:], ["no archive for linux/amd64"], id="a platform is missing"),
        pytest.param(
            HOMEPAGE,
            lambda found: [
                *found,
                found[0].with_name("ksched-1.2.3-windows-amd64.tar.gz"),
                found[0].with_name("x.zip"),
            ],
            ["windows-amd64.tar.gz: no such file or directory", "x.zip: not named ksched-VERSION-OS-ARCH.tar.gz"],
            id="archives that are none",
        ),
        pytest.param(
            HOMEPAGE,
            lambda found: [*found[:3], found[3].rename(found[3].with_name("ksched-1.2.4-darwin-arm64.tar.gz"))],
            ["ksched-1.2.4-darwin-arm64.tar.gz: not of version 1.2.3"],
            id="two versions",
        ),
    ],
)
def test_mistakes_are_told_all_at_once(tmp_path: Path, homepage: str, change: Any, expected: list[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        script("deploy/krew/render.py").render(homepage, BASE, change(archives(tmp_path)))
    assert [text for text in expected if text not in str(raised.value)] == []
