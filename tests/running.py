"""Use cases as the command line runs them, for tests that start from its options."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec.structs import replace

from ksched_cli import wiring as schedulers
from ksched_cli.simulator import RunOptions, Simulator
from ksched_cli.wiring import load_changed
from ksched_cli.world.results import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from ksched_cli.engine.scheduler import Scheduler
    from ksched_cli.plan.check.results import Check
    from ksched_cli.plan.run.loaded_input import LoadedInput, SchedulerSpec
    from ksched_cli.plan.run.run import Run
    from ksched_cli.plan.settle import SettledSimulation
    from ksched_cli.plan.verify.results import Verification
    from ksched_cli.sources.loaded import Loaded


class Printed(NamedTuple):
    out: str
    err: str


class Ksched(Protocol):
    """The fixture `ksched`: run the command in this process, check its exit code if `code` is given, and return what was
    printed since the output was last read."""

    def __call__(self, *arguments: str, code: int | None = None) -> Printed: ...


compare = Simulator.compare


def prepare(options: RunOptions) -> Run:
    return Simulator.of(options).prepared()


def load(options: RunOptions) -> LoadedInput:
    return load_changed(options)


def input_of(options: RunOptions, loaded: Loaded) -> LoadedInput:
    """These objects under the scheduler of the options."""
    make = partial(schedulers.make_scheduler, options)
    return schedulers.LoadedInput(loaded, schedulers.scheduler_spec(options), make, lambda pod: True)


def input_over(scheduler: Scheduler, loaded: Loaded) -> LoadedInput:
    """An input whose run takes this scheduler."""
    spec = schedulers.scheduler_spec(RunOptions())
    return schedulers.LoadedInput(loaded, spec, lambda *_: scheduler, lambda pod: True)


def make_scheduler(options: RunOptions, loaded: Loaded, spec: SchedulerSpec) -> Scheduler:
    return schedulers.make_scheduler(options, loaded, spec)


def settle(options: RunOptions, limits: Limits = DEFAULT_LIMITS) -> SettledSimulation:
    return Simulator.of(options).settle(limits)


def check(options: RunOptions, *, restart: bool = False) -> Check:
    simulator = Simulator.of(replace(options, filenames=(), allow_empty=True))
    return simulator.check(*options.filenames, restart=restart, allow_empty=options.allow_empty)


def verify(options: RunOptions) -> Verification:
    return Simulator.of(replace(options, events=True)).verify()
