"""The YAML reader, and the lines of fields in YAML and in JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api import yaml_reader
from ksched_cli.api.yaml_reader import MAX_DEPTH, read_documents
from ksched_cli.errors import InputError
from ksched_cli.sources.places import field_lines


def values(text: str) -> list[Any]:
    return [document.value for document in read_documents(text, "f.yaml")]


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("yes", True), ("No", False), ("on", True), ("OFF", False), ("y", True), ("n", False), ("true", True),
        ("'yes'", "yes"), ('"no"', "no"), ("0777", 511), ("0o17", 15), ("'0777'", "0777"), ("0x1F", 31), ("0b101", 5),
        ("1_000", 1000), ("-5", -5), ("+5", 5), ("089", 89), ("1e3", 1000), ("1.5", 1.5), (".5", 0.5), ("5.", 5),
        ("1:30", "1:30"), ("2001-01-01", "2001-01-01"), ("~", None), ("null", None), ("", None), ("nullish", "nullish"),
        ("1Gi", "1Gi"), ("100m", "100m"), ("!!str 5", "5"), ("!!int '5'", 5), ("!!binary aGk=", "hi"),
        ("18446744073709551615", 18446744073709551615), ("-9223372036854775809", -9223372036854775808), ("=", "="), ("<", "<"), ("1.2.3", "1.2.3"), ("Yes ", True),
    ],
)  # fmt: skip
def test_scalars_as_kubectl_reads_them(scalar: str, value: Any) -> None:
    assert values(f"a: {scalar}\n") == [{"a": value}]
    assert type(values(f"a: {scalar}\n")[0]["a"]) is type(value)


@pytest.mark.parametrize(
    ("key", "text"), [("1", "1"), ("true", "true"), ("yes", "true"), ("~", "null"), ("1.5", "1.5"), ("'1'", "1")]
)
def test_keys_become_text(key: str, text: str) -> None:
    assert values(f"{key}: x\n") == [{text: "x"}]


def test_merge_keys() -> None:
    assert values("a: &x {p: 1, q: 1}\nb:\n  <<: *x\n  q: 2\n")[0]["b"] == {"p": 1, "q": 2}
    assert values("a: &x {p: 1}\nb: &y {p: 2, r: 3}\nc:\n  <<: [*x, *y]\n")[0]["c"] == {"p": 1, "r": 3}


@pytest.mark.parametrize(
    ("anchored", "value"),
    [("5", 5), ("'5'", "5"), ("[1, 2]", [1, 2]), ("{p: 1}", {"p": 1})],
    ids=["a number", "a text", "a list", "a mapping"],
)
def test_an_alias_is_the_value_of_its_anchor(anchored: str, value: Any) -> None:
    assert values(f"a: &x {anchored}\nb: *x\n") == [{"a": value, "b": value}]


def test_an_alias_is_a_key_like_its_anchor() -> None:
    assert values('a: &x b\n? *x\n: 1\nc: &y "<<"\n? *y\n: 2\n') == [{"a": "b", "b": 1, "c": "<<", "<<": 2}]


def test_a_document_without_aliases_may_be_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_reader, "FREE_EXPANSION", 5)
    assert values("[1, 2, 3, [4, 5], {a: 6}]\n") == [[1, 2, 3, [4, 5], {"a": 6}]]


def test_no_document_may_be_far_larger_than_it_is_written_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_reader, "FREE_EXPANSION", 0)
    grows = f"a: &a [{'x,' * 30}]\nb: [{'*a,' * 30}]\n"
    with pytest.raises(InputError, match=r"f\.yaml:5: aliases make this document far larger"):
        values(f"[{'x,' * 1000}]\n---\n# after a document without aliases\n{grows}")


def test_documents_and_where_they_start() -> None:
    text = "# a comment\n---\na: 1\n---\n---\n# nothing\n---\nb: 2\n...\n"
    assert [(each.value, each.line) for each in read_documents(text)] == [({"a": 1}, 3), ({"b": 2}, 8)]


def test_the_line_of_a_path() -> None:
    text = "spec:\n  containers:\n  - name: a\n  - name: b\n    image: c\n"
    (document,) = read_documents(text, with_lines=True)
    assert document.line_of(("spec", "containers", 1, "image")) == 5
    assert document.line_of(("spec", "containers", 1)) == 4
    assert document.line_of(("spec", "containers", 0, "nothing", "there")) == 3


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("a: [1,\nb: 2\n", r"f\.yaml:\d: broken YAML", id="broken"),
        pytest.param("a:\n\t- b\n", r"f\.yaml:2: broken YAML.*tab|f\.yaml:2: broken YAML", id="a tab"),
        pytest.param("a: 1\nb: 2\na: 3\n", r'f\.yaml:3: key "a" is there twice', id="a key twice"),
        pytest.param("a: !!python/object/apply:os.system [x]\n", r"f\.yaml:1: tag .* is not allowed", id="python tag"),
        pytest.param("a: !custom x\n", r"f\.yaml:1: tag !custom is not allowed", id="custom tag"),
        pytest.param("a: *nothing\n", r"f\.yaml:1: alias \*nothing has no anchor", id="unknown alias"),
        pytest.param("a: &a [*a]\n", r"f\.yaml:1: alias \*a has no anchor", id="an alias of itself"),
        pytest.param("a: .inf\n", r"f\.yaml:1: .inf is a number that JSON cannot hold", id="infinity"),
        pytest.param("a: !!int x\n", r"f\.yaml:1: 'x' is not a !!int", id="a tag that does not fit"),
        pytest.param("? [a]\n: b\n", r"f\.yaml:1: a mapping or list cannot be a key", id="a list as key"),
        pytest.param("a:\n  <<: 5\n", r"f\.yaml:2: << merges", id="a merge of a number"),
        pytest.param("[" * (MAX_DEPTH + 1), r"f\.yaml:1: nested more than 100 deep", id="deep flow"),
        pytest.param("- " * 50_000 + "x", r"f\.yaml:1: nested more than 100 deep", id="deep block"),
        pytest.param(BOMB, r"f\.yaml:\d: aliases make this document far larger", id="billion laughs"),
        pytest.param("a: \x00\n", r"f\.yaml: not text", id="a NUL"),
    ],
)
def test_refusals(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        values(text)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zl", "Zp", "Cn"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcyn01.~-_ ", max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=4), json_values, min_size=1, max_size=3))
def test_json_and_yaml_of_the_same_value_read_alike(value: Any) -> None:
    assert values(json.dumps(value, ensure_ascii=False)) == [value]
    # Quoted throughout: PyYAML leaves a plain `n` alone that kubectl reads as false.
    assert values(yaml.safe_dump(value, allow_unicode=True, default_style='"')) == [value]


def test_the_last_of_several_keys_counts_in_a_manifest() -> None:
    (found,) = read_documents("a: 1\nb: {c: 1, c: 2}\na: 3\n", repeats=True)
    assert found.value == {"a": 3, "b": {"c": 2}}


# Lines of fields in JSON: the same as those that the YAML reader finds, for JSON is YAML


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
