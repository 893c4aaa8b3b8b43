"""Texts of results in another form: of dataclasses and of frozen structs."""

from __future__ import annotations

from ksched_cli.plan.sweep.statistics import SweptPod, VariantRow
from ksched_cli.report.visible import with_texts


def test_a_frozen_struct_is_copied_with_its_texts_converted() -> None:
    row = VariantRow(0, {"fail": ["node-1"]}, "safe", pods=(SweptPod("shop/web", "scheduled", "node-1"),))
    found = with_texts(row, lambda text: text.replace("node-1", "n"))
    assert found.pods == (SweptPod("shop/web", "scheduled", "n"),)
    assert (found.at, row.at) == ({"fail": ["n"]}, {"fail": ["node-1"]})
