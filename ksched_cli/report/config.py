"""Renders KubeSchedulerConfigurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksched_cli.config.migration.migrate import Migration
from ksched_cli.plan.reference.config import EffectiveConfiguration
from ksched_cli.report.registry import RenderOptions


def effective_configuration_document(found: EffectiveConfiguration, options: RenderOptions) -> Mapping[str, Any]:
    return found.document


def migrated_document(found: Migration, options: RenderOptions) -> dict[str, Any]:
    return found.document
