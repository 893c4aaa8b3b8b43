"""Lines of fields in JSON: the same as those that the YAML reader finds, for JSON is YAML."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.yaml_reader import read_documents
from ksched_cli.sources.places import field_lines

TEXT = """{
  "a": [1, {"b": "x\\"{[:,]",
    "c": []}],
  "d": {
    "e": null}
}
{"f": [
  [1,
   2]]}"""


def test_several_documents() -> None:
    assert list(field_lines(TEXT)) == [
        (1, {("a",): 2, ("a", 0): 2, ("a", 1): 2, ("a", 1, "b"): 2, ("a", 1, "c"): 3, ("d",): 4, ("d", "e"): 5}),
        (7, {("f",): 7, ("f", 0): 8, ("f", 0, 0): 8, ("f", 0, 1): 9}),
    ]


KEYS = st.text("abc", min_size=1, max_size=3)
VALUES = st.recursive(
    st.integers() | st.text('a{}[]:,"\\ ', max_size=4) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), st.sampled_from([None, 1, 2]))
def test_as_the_yaml_reader_has_it(value: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    ((_, found),) = field_lines(text)
    (document,) = read_documents(text, with_lines=True)
    assert found == {path: line for path, line in document.lines.items() if path}
