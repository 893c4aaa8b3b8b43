"""What-if edits on the command line."""

from __future__ import annotations

import pytest

from tests.cli.transcripts import FLEET, same_as_golden, without_stats
from tests.running import Ksched


@pytest.mark.parametrize(
    ("name", "code", "arguments"),
    [
        pytest.param(
            "edits", 0, ["--drain", "east-2", "--clone-node", "west-1", "--scale", "deploy/web=4"], id="edits"
        ),
        pytest.param(
            "edit-mistakes",
            2,
            [
                "--cordon",
                "east-3",
                "--taint",
                "east-1=x",
                "--remove-node",
                "west-1",
                "--drain",
                "west-1",
                "--clone-node",
                "nort-1=2",
                "--scale",
                "deploy/wep=2",
                "--add-node",
                "cpu=lots",
            ],
            id="mistakes are told all at once",
        ),
    ],
)
def test_transcript(name: str, code: int, arguments: list[str], ksched: Ksched) -> None:
    captured = ksched("simulate", "--from", FLEET, *arguments, code=code)
    shown = without_stats(captured.out) + captured.err
    same_as_golden(name, shown, columns=None)
    assert all(len(line) <= 80 for line in captured.out.splitlines())


def test_the_order_of_the_edits_is_fixed_and_not_that_of_the_flags(ksched: Ksched) -> None:
    """A node is there before it is cordoned, whichever of the two is said first."""
    edits = [["--cordon", "new-node"], ["--add-node", "cpu=4,memory=8Gi"], ["--scale", "deploy/web=5"]]
    shown = []
    for order in (edits, edits[::-1]):
        shown.append(ksched("simulate", "--from", FLEET, *(word for edit in order for word in edit), "-o", "name").out)
    assert shown[0] == shown[1]
    assert "node/new-node" in shown[0]  # the DaemonSet's pod, which tolerates the cordon
    assert shown[0].count("\n") == 3
