"""Test manifests with pytest: fixtures `cluster` and `expect`, mark `workloads`, option `--ksched-html`.

    @pytest.mark.workloads("deploy/")
    def test_deploy(cluster, expect):
        expect(cluster("snapshot.gz")).schedules().without_preemption().survives(node=1)

pytest finds the plugin by its entry point; `ksched help testing` has the manual.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ksched_cli.testing.expectation import Expectation as Expectation
    from ksched_cli.testing.expectation import NotSchedulable as NotSchedulable

__all__ = ["Expectation", "NotSchedulable"]


def __getattr__(name: str) -> Any:
    """Every pytest of an environment with ksched imports this package: the classes are imported on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ksched_cli.testing import expectation

    return getattr(expectation, name)
