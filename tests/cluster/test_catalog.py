"""The objects of a cluster beside pods and nodes."""

from __future__ import annotations

import pytest

from ksched_cli.api.dynamic_resources import DeviceClass, ResourceClaim
from ksched_cli.cluster.catalog import Catalog, HasMetadata
from tests.plugins.lib.devices.resources import make_claim, make_class

A, B, CLASS = make_claim("a"), make_claim("b"), make_class("gpu")
NEW_A = make_claim("a", metadata={"labels": {"new": "yes"}})


@pytest.mark.parametrize(
    ("mine", "theirs", "changes"),
    [
        pytest.param([A, CLASS], [NEW_A], True, id="another version"),
        pytest.param([A, CLASS], [A, B], True, id="one more"),
        pytest.param([A, B, CLASS], [B], True, id="one less"),
        pytest.param([CLASS], [A], True, id="none before"),
        pytest.param([A, CLASS], [A], False, id="the same"),
        pytest.param([CLASS], [], False, id="none"),
    ],
)
def test_a_copy_of_a_kind(mine: list[HasMetadata], theirs: list[HasMetadata], changes: bool) -> None:
    """Other kinds stay. A roll back restores what was there."""
    catalog, other = Catalog(mine), Catalog(theirs)
    before, version = catalog.kept(), catalog.version
    with catalog.undo.trial():
        catalog.copy_kinds(other, [ResourceClaim])
        assert list(catalog.all(ResourceClaim)) == theirs
        assert list(catalog.all(DeviceClass)) == [CLASS]
        assert (catalog.version != version) is changes
        other.put(B)
        assert list(catalog.all(ResourceClaim)) == theirs
    assert (catalog.kept(), catalog.version) == (before, version)


def test_an_object_that_is_removed() -> None:
    catalog = Catalog([A, CLASS])
    version = catalog.version
    catalog.remove(B)
    catalog.remove(A)
    assert catalog.get(ResourceClaim, "a", "default") is None
    assert catalog.has(DeviceClass)
    assert not catalog.has(ResourceClaim)
    assert catalog.kinds() == [DeviceClass]
    assert catalog.version != version
