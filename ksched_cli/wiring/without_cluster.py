"""Use cases that need no cluster: tables of ksched itself, and files that are read by themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ksched_cli.wiring.options import AUTO, RunOptions

if TYPE_CHECKING:
    from ksched_cli.config.migration.migrate import Migration
    from ksched_cli.errors import Problem
    from ksched_cli.plan.check.results import Check
    from ksched_cli.plan.check.suppression import Suppressions
    from ksched_cli.plan.reference.config import EffectiveConfiguration
    from ksched_cli.plan.reference.explain_code import ReasonCodes
    from ksched_cli.plan.reference.plugins import PluginList
    from ksched_cli.plan.reference.versions import VersionChanges, VersionList


class WithoutCluster:
    """The part of `Simulator` that is called on the class."""

    @staticmethod
    def plugins(name: str | None = None, options: RunOptions | None = None) -> PluginList:
        """What each plugin does, where, and with which arguments; or one plugin in full."""
        from ksched_cli.plan.reference.plugins import describe_plugins
        from ksched_cli.wiring.loading import scheduler_spec

        return describe_plugins(name, scheduler_spec(options or RunOptions()))

    @staticmethod
    def versions() -> VersionList:
        """The modelled minors of Kubernetes."""
        from ksched_cli.plan.reference.versions import list_versions

        return list_versions()

    @staticmethod
    def version_changes(version: str) -> VersionChanges:
        """What a minor changed."""
        from ksched_cli.plan.reference.versions import list_changes

        return list_changes(version)

    @staticmethod
    def reason_codes(*codes: str) -> ReasonCodes:
        """What reason codes of `check` mean; all codes where none is named."""
        from ksched_cli.plan.reference.explain_code import explain_codes

        return explain_codes(codes)

    @staticmethod
    def configuration(options: RunOptions) -> EffectiveConfiguration:
        """The configuration of the options with every default written out."""
        from ksched_cli.plan.reference.config import effective_configuration
        from ksched_cli.wiring.loading import scheduler_spec

        return effective_configuration(scheduler_spec(options))

    @staticmethod
    def validate_configuration(options: RunOptions) -> tuple[str, ...]:
        """Warnings about the configuration of the options. ConfigError where kube-scheduler would not accept it."""
        from ksched_cli.plan.reference.config import validate_configuration
        from ksched_cli.wiring.loading import scheduler_spec

        return validate_configuration(scheduler_spec(options), str(options.config))

    @staticmethod
    def migrate_configuration(options: RunOptions) -> Migration:
        """The configuration or Policy of the options, rewritten for the newest minor."""
        from ksched_cli.plan.reference.config import migrate_file
        from ksched_cli.wiring.loading import make_registry

        version = None if options.kube_version == AUTO else options.kube_version
        gates, plugins = options.feature_gates, options.plugins
        return migrate_file(str(options.config), options.stdin, version, gates, plugins, make_registry)

    @staticmethod
    def configuration_schema(kube_version: str = AUTO) -> dict[str, Any]:
        """A JSON Schema of KubeSchedulerConfiguration."""
        from ksched_cli.config.schema import configuration_schema
        from ksched_cli.wiring.loading import scheduler_spec

        spec = scheduler_spec(RunOptions(kube_version=kube_version))
        return configuration_schema(spec.release, spec.registry.in_tree_models())

    @staticmethod
    def validate_scenario(path: str) -> str:
        """The name of a scenario. InputError with all mistakes of its file."""
        from ksched_cli.whatif.scenario.load import validate_scenario

        return validate_scenario(path)

    @staticmethod
    def scenario_schema() -> dict[str, Any]:
        """A JSON Schema of scenario files."""
        from ksched_cli.whatif.scenario.document import schema

        return schema()

    @staticmethod
    def object_names(sources: Sequence[str], kind: str) -> list[tuple[str, str]]:
        """Namespace and name of the objects of a kind in files, for completion. Nothing is checked."""
        from ksched_cli.sources.names import find_names

        return list(find_names(sources, kind))

    @staticmethod
    def validate_sweep(path: str) -> str:
        """The name of a sweep. InputError with all mistakes of its file."""
        from ksched_cli.plan.sweep.load import validate_sweep

        return validate_sweep(path)

    @staticmethod
    def sweep_schema() -> dict[str, Any]:
        """A JSON Schema of sweep files."""
        from ksched_cli.plan.sweep.load import sweep_schema

        return sweep_schema()

    @staticmethod
    def suppressions(codes: Sequence[str], baseline: str = "") -> Suppressions:
        """The findings with these codes or names, and those of a baseline file, are accepted."""
        from ksched_cli.plan.check.suppression import Suppressions, read_baseline
        from ksched_cli.plan.reference.explain_code import explain_codes

        found = frozenset(each.code for each in explain_codes(codes).codes) if codes else frozenset[str]()
        return Suppressions(found, baseline=read_baseline(baseline) if baseline else {}, baseline_source=baseline)

    @staticmethod
    def baseline(found: Check) -> dict[str, Any]:
        """The document of a baseline that accepts the findings of a check."""
        from ksched_cli.plan.check.suppression import baseline_document

        return baseline_document(found)

    @staticmethod
    def check_not_run(problems: Iterable[Problem]) -> Check:
        """The result of a check that could not begin."""
        from ksched_cli.plan.check.results import check_not_run

        return check_not_run(problems)
