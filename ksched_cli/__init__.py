"""ksched: what would kube-scheduler do?

`Simulator` is the way in for Python; it is imported on first use, so that the command starts at once.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ksched_cli.build_info import __version__ as __version__
    from ksched_cli.errors import KschedError as KschedError
    from ksched_cli.plan.results.outcomes import PodOutcome as PodOutcome
    from ksched_cli.plan.results.outcomes import Simulation as Simulation
    from ksched_cli.simulator import Simulator as Simulator

__all__ = ["KschedError", "PodOutcome", "Simulation", "Simulator", "__version__"]

_HOMES = {
    "__version__": "ksched_cli.build_info",
    "KschedError": "ksched_cli.errors",
    "PodOutcome": "ksched_cli.plan.results.outcomes",
    "Simulation": "ksched_cli.plan.results.outcomes",
    "Simulator": "ksched_cli.simulator",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found
