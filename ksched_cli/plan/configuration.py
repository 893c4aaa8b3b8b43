"""Configurations as kube-scheduler reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ksched_cli.config.view import configuration_document
from ksched_cli.errors import ConfigError, Problem
from ksched_cli.plan.scheduler_spec import SchedulerSpec


class EffectiveConfiguration(Struct, frozen=True):
    """A configuration with every default written out, as a document."""

    document: Mapping[str, Any]
    warnings: tuple[str, ...]


def effective_configuration(spec: SchedulerSpec) -> EffectiveConfiguration:
    document = configuration_document(spec.configuration, spec.release, spec.gates, spec.registry.models())
    return EffectiveConfiguration(document, spec.warnings)


def validate_configuration(spec: SchedulerSpec, file: str) -> tuple[str, ...]:
    """Warnings about the configuration. ConfigError where the minor does not read its version."""
    if spec.not_read:
        hint = f"use {spec.release.config.read[0]}"
        raise ConfigError(Problem(spec.not_read, file, path="apiVersion", hint=hint))
    return spec.warnings
