"""The methods of `Simulator` about nodes to buy, to remove and to fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ksched_cli.plan.consolidate.results import Consolidation
    from ksched_cli.plan.rightsize import Rightsizing
    from ksched_cli.plan.run.loaded_input import LoadedInput
    from ksched_cli.plan.size.derived import DerivedCatalog
    from ksched_cli.plan.size.results import Sizing
    from ksched_cli.plan.size.settings import SearchSettings
    from ksched_cli.plan.size.shapes import ShapeCatalog


def read_shapes_of(catalog: str | Mapping[str, Any] | None) -> ShapeCatalog | None:
    """The catalog of a file or a document."""
    if catalog is None:
        return None
    from ksched_cli.plan.size.catalog import catalog_of, load_catalog

    return load_catalog(catalog) if isinstance(catalog, str) else catalog_of(catalog)


class SizingMethods:
    """Methods of `Simulator`. The subclass has the input of a run, and whether there is anything to place."""

    @property
    def _current(self) -> LoadedInput:
        raise NotImplementedError

    def _check_not_empty(self, *, allow_empty: bool | None = None) -> None:
        raise NotImplementedError

    def _check_selection(self) -> None:
        raise NotImplementedError

    def size(
        self,
        catalog: str | Mapping[str, Any],
        *,
        time_limit: float = 20.0,
        greedy: bool = False,
        spot: bool = True,
        allow_empty: bool = False,
        settings: SearchSettings | None = None,
    ) -> Sizing:
        """The cheapest nodes of a catalog, a file or a document, to add so that the scheduler places every pending pod.
        `greedy`: without a solver. `spot`: with the spot shapes. The search ends after `time_limit` seconds;
        `settings` say how far each of its steps goes."""
        from ksched_cli.plan.size.run import size_input

        source = self._current
        self._check_not_empty(allow_empty=allow_empty)
        found = read_shapes_of(catalog)
        assert found is not None
        shapes = found if spot else found.without_spot()
        return size_input(source, shapes, time_limit=time_limit, greedy=greedy, settings=settings)

    def consolidate(
        self,
        catalog: str | Mapping[str, Any] | None = None,
        *,
        keep_headroom: str = "",
        survive: str = "",
        only: str = "",
        force: bool = False,
        delete_emptydir_data: bool = False,
        time_limit: float = 20.0,
    ) -> Consolidation:
        """The nodes that can be drained and deleted one after the other, every pod placed again and every budget kept.
        With a catalog nodes have its prices, and cheaper shapes replace nodes. `keep_headroom`: `cpu=10%`; `survive`:
        `node=1` or `zone=1`; `only`: labels of the nodes that may go."""
        from ksched_cli.plan.consolidate.consolidate import consolidate_input
        from ksched_cli.plan.consolidate.results import read_conditions
        from ksched_cli.plan.drain.filters import Flags

        self._check_selection()
        conditions = read_conditions(keep_headroom, survive, only)
        flags = Flags(force, ignore_daemonsets=True, delete_emptydir_data=delete_emptydir_data)
        return consolidate_input(self._current, read_shapes_of(catalog), flags, conditions, time_limit=time_limit)

    def rightsize(self, catalog: str | Mapping[str, Any] | None = None) -> Rightsizing:
        """How much the pods of the manifests may request at most and still fit, now and on each shape of the catalog or
        of the nodes."""
        from ksched_cli.plan.rightsize import rightsize_input

        self._check_selection()
        return rightsize_input(self._current, read_shapes_of(catalog))

    def size_catalog(self, *, prices: Sequence[str] = (), rates: str = "") -> DerivedCatalog:
        """A catalog of the instance types of the nodes and of the node groups of autoscalers. `prices` are written
        SHAPE=PRICE, `rates` cpu=PRICE,memory=PRICE."""
        from ksched_cli.plan.size.derived import derive_catalog

        return derive_catalog(self._current.loaded, prices, rates)

    @staticmethod
    def catalog_schema() -> dict[str, Any]:
        """A JSON Schema of catalogs."""
        from ksched_cli.plan.size.catalog import catalog_schema

        return catalog_schema()
