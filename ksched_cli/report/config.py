"""Documents that a result has as they are: KubeSchedulerConfigurations, and catalogs of shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ksched_cli.config.migrate import Migration
from ksched_cli.plan.reference.config import EffectiveConfiguration
from ksched_cli.report.registry import RenderOptions

if TYPE_CHECKING:
    from ksched_cli.plan.size.derived import DerivedCatalog


def effective_configuration_document(found: EffectiveConfiguration, options: RenderOptions) -> Mapping[str, Any]:
    return found.document


def migrated_document(found: Migration, options: RenderOptions) -> dict[str, Any]:
    return found.document


def catalog_document(found: DerivedCatalog, options: RenderOptions) -> dict[str, Any]:
    return dict(found.document)
