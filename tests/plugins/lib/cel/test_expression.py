"""Device selectors: what they can say, what they mean, and how they fail."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.dynamic_resources import Device
from ksched_cli.plugins.lib.cel.expression import compile_cel_selector
from ksched_cli.plugins.lib.cel.values import CelCompileError, CelError

DRIVER = "dra.example.com"


def device(attributes: dict[str, Any] | None = None, capacity: dict[str, str] | None = None, **more: Any) -> Device:
    document = {
        "name": "device",
        "attributes": attributes or {},
        "capacity": {name: {"value": amount} for name, amount in (capacity or {}).items()},
        **more,
    }
    return msgspec.convert(document, Device)


GPU = device(
    {
        "model": {"string": "a100"},
        "index": {"int": 3},
        "ecc": {"bool": True},
        "firmware": {"version": "1.2.3"},
        "other.example.com/model": {"string": "x"},
        "quote": {"string": 'a"b'},
    },
    {"memory": "40Gi", "other.example.com/memory": "1Gi"},
)


def matches(expression: str, of: Device = GPU, *, shareable: bool = True) -> bool:
    return compile_cel_selector(expression, shareable=shareable).matches(DRIVER, of)


def attribute(rest: str) -> str:
    return f'device.attributes["{DRIVER}"].{rest}'


# Quantities, and whether Go's AsInt64 has a value for them (ParseQuantity).
INT64 = [
    *[(text, True) for text in ("0", "00", "-5", "1k", "1e3", "999999999999999999", "000999999999999999999", "1.k")],
    *[(text, True) for text in ("1.5k", "99Ti", "99999Gi", "9E")],
    *[
        (text, False)
        for text in ("1000m", "1.0", "1e-1", "1000000000000000000", "1.5555k", "100Ti", "1Pi", "1.0Ki", "10E")
    ],
]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("true", True, id="true"),
        pytest.param("false", False, id="false"),
        pytest.param(f'device.driver == "{DRIVER}"', True, id="driver name"),
        pytest.param('device.driver == "other"', False, id="another driver"),
        pytest.param(f'.device.driver == "{DRIVER}"', True, id="name with a leading dot"),
        pytest.param(attribute("ecc"), True, id="bool attribute"),
        pytest.param("!" + attribute("ecc"), False, id="not"),
        pytest.param(attribute('model == "a100"'), True, id="string attribute"),
        pytest.param(attribute('model in ["h100", "a100"]'), True, id="in a list"),
        pytest.param(attribute("index < 4"), True, id="int attribute"),
        pytest.param(attribute("index == 3.0"), True, id="numbers across types"),
        pytest.param(attribute("model == 3"), False, id="different types are just not equal"),
        pytest.param('device.attributes["other.example.com"].model == "x"', True, id="attribute of another domain"),
        pytest.param(f'device.attributes["{DRIVER}"]["model"] == "a100"', True, id="index instead of a field"),
        pytest.param(attribute("firmware.isGreaterThan(semver('1.2.0'))"), True, id="version greater"),
        pytest.param(attribute("firmware == semver('1.2.3')"), True, id="version equal"),
        pytest.param(attribute("firmware.major() == 1"), True, id="major"),
        pytest.param("semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))", True, id="a pre-release comes first"),
        pytest.param("semver('1.0.0-1').isLessThan(semver('1.0.0-a'))", True, id="numbers before words"),
        pytest.param("semver('1.0.0-rc.9').isLessThan(semver('1.0.0-rc.10'))", True, id="pre-release numbers"),
        pytest.param("semver('v1.2', true) == semver('1.2.0')", True, id="normalised version"),
        pytest.param("semver('0.01.00', true) == semver('0.1.0')", True, id="leading zeros and a zero"),
        pytest.param("semver('1.0.01-rc', true) == semver('1.0.1-rc')", True, id="zeros before a pre-release"),
        pytest.param("semver('1.2.3-a.00b', true) == semver('1.2.3-a.00b')", True, id="zeros of a pre-release"),
        pytest.param("semver('1.0.00-rc', true) == semver('1.0.0-rc')", True, id="a zero before a pre-release"),
        pytest.param("isSemver('1.2')", False, id="not a strict version"),
        pytest.param("isSemver('1.2', true)", True, id="a version when normalised"),
        pytest.param(f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) == 0', True, id="quantity"),
        pytest.param(f'device.capacity["{DRIVER}"].memory == quantity("40960Mi")', True, id="quantities of one value"),
        pytest.param(f'device.capacity["{DRIVER}"].memory.isLessThan(quantity("1Ti"))', True, id="less"),
        pytest.param('quantity("1k").isLessThan(quantity("1000"))', False, id="not less than its equal"),
        pytest.param('quantity("1k").isGreaterThan(quantity("1000"))', False, id="not greater than its equal"),
        pytest.param('quantity("1").add(quantity("500m")) == quantity("1500m")', True, id="add"),
        pytest.param('quantity("3").sub(1).asInteger() == 2', True, id="subtract an int"),
        pytest.param('quantity("-1").sign() == -1', True, id="sign"),
        pytest.param('quantity("0").sign() == 0 && quantity("500m").sign() == 1', True, id="sign of nothing"),
        pytest.param('quantity("9E").add(223372036854775807).isInteger()', True, id="the largest int64"),
        pytest.param('quantity("-9E").sub(223372036854775808).isInteger()', True, id="the smallest int64"),
        pytest.param('isQuantity("1Gi") && !isQuantity("1Gigabyte")', True, id="isQuantity"),
        pytest.param('quantity("500m").isInteger()', False, id="isInteger"),
        *(pytest.param(f'quantity("{text}").isInteger()', whole, id=f"isInteger {text}") for text, whole in INT64),
        pytest.param('quantity("999999999999999999").add(9).isInteger()', True, id="isInteger of a sum"),
        pytest.param('quantity("9E").add(quantity("300P")).isInteger()', False, id="a sum that is too large"),
        pytest.param('quantity("1").sub(quantity("1Pi")).isInteger()', False, id="of what is no int64"),
        pytest.param('quantity("1.5").add(quantity("0.5")).isInteger()', False, id="isInteger of two fractions"),
        pytest.param('quantity("1Pi") == quantity("1125899906842624")', True, id="equal, one of them an int64"),
        pytest.param('quantity("1") == quantity("2")', False, id="other quantities"),
        pytest.param(f'"{DRIVER}" in device.attributes', True, id="known domain"),
        pytest.param('"nobody.example.com" in device.attributes', False, id="unknown domain"),
        pytest.param('device.attributes["nobody.example.com"].size() == 0', True, id="an unknown domain is empty"),
        pytest.param(f"has({attribute('model')})", True, id="has"),
        pytest.param(f"has({attribute('nothing')})", False, id="has not"),
        pytest.param('has(device.attributes["nobody.example.com"].model)', False, id="has not in an unknown domain"),
        pytest.param(f'cel.bind(d, device.attributes["{DRIVER}"], d.ecc && d.index == 3)', True, id="bind"),
        pytest.param(attribute('model.startsWith("a") && "a100".endsWith("0")'), True, id="affixes"),
        pytest.param(attribute('model.matches("^[ah]1.0$")'), True, id="matches"),
        pytest.param(r'"a\n".matches("a$")', False, id="$ is the very end"),
        pytest.param(attribute("quote == 'a\"b'"), True, id="quotes"),
        pytest.param(r'"\u0041\x42\103" == r"ABC"', True, id="escapes"),
        pytest.param('"a\\\\d" == r"a\\d"', True, id="raw strings"),
        pytest.param("'''a''' + \"\"\"b\"\"\" == 'ab'", True, id="triple quotes"),
        pytest.param("1 + 2 * 3 - 8 / 3 == 5 && -7 / 2 == -3 && -7 % 3 == -1", True, id="arithmetic as in Go"),
        pytest.param("0x10 == 16 && 1u + 2u == 3u && 1e3 == 1000.0", True, id="number forms"),
        pytest.param("-9223372036854775808 < 0", True, id="the smallest int"),
        pytest.param("true ? 1 == 1 : 1 / 0 == 0", True, id="only one branch"),
        pytest.param("[1, 2, 3].exists(x, x > 2) && [1, 2].all(x, x > 0)", True, id="quantifiers"),
        pytest.param("[1, 2, 2].exists_one(x, x == 2)", False, id="exists_one"),
        pytest.param("[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6]", True, id="filter and map"),
        pytest.param("[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]", True, id="map with a condition"),
        pytest.param("{'a': 1}.a == 1 && {'a': 1} == {'a': 1.0}", True, id="maps"),
        pytest.param("'a' in {'a': 1} && {1: 2}.exists(k, k == 1)", True, id="map keys"),
        pytest.param("true in [1]", False, id="a bool is not a number"),
        pytest.param("size('äöü') == 3 && [1, 2].size() == 2", True, id="size"),
        pytest.param("'a,b'.split(',') == ['a', 'b'] && ['a', 'b'].join('-') == 'a-b'", True, id="split and join"),
        pytest.param("'Ab'.lowerAscii() == 'ab' && ' a '.trim() == 'a'", True, id="string extensions"),
        pytest.param("'hello'.substring(1, 3) == 'el' && 'hello'.indexOf('l') == 2", True, id="parts of strings"),
        pytest.param("[3, 1, 2].min() == 1 && [1, 2].isSorted() && [1, 2].sum() == 3", True, id="list extensions"),
        pytest.param("int('12') == 12 && string(1) == '1' && double('1.5') == 1.5", True, id="conversions"),
        pytest.param(attribute("?model.orValue('x') == 'a100'"), True, id="optional that is there"),
        pytest.param(attribute("?nothing.orValue('x') == 'x'"), True, id="optional that is not"),
        pytest.param(f'device.attributes["{DRIVER}"][?"nothing"].hasValue()', False, id="optional index"),
        pytest.param('device.attributes[?"nobody"].?a.b.hasValue()', False, id="an empty optional stays empty"),
        pytest.param(attribute("?index.optMap(x, x + 1).value() == 4"), True, id="optMap"),
        pytest.param("optional.of(1).optFlatMap(x, optional.of(x + 1)).value() == 2", True, id="optFlatMap"),
        pytest.param("optional.of(1).optFlatMap(x, optional.none()).hasValue()", False, id="optFlatMap to nothing"),
        pytest.param("optional.of(1).optMap(x, optional.of(x)).value().value() == 1", True, id="optMap wraps"),
        pytest.param("[1][?3].or(optional.of(2)).value() == 2 && !optional.none().hasValue()", True, id="or"),
        pytest.param("sets.contains([1, 2], [2]) && !sets.contains([1], [2])", True, id="sets.contains"),
        pytest.param("sets.equivalent([1, 1], [1]) && sets.intersects([1, 2], [2, 3])", True, id="sets"),
        pytest.param("true // the rest of the line\n && true", True, id="comments"),
        pytest.param("device.allowMultipleAllocations", False, id="sharing is off unless it is on"),
    ],
)
def test_result(expression: str, expected: bool) -> None:
    assert matches(expression) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("false && {0}", False, id="false decides"),
        pytest.param("{0} && false", False, id="false decides from the right"),
        pytest.param("true || {0}", True, id="true decides"),
        pytest.param("{0} || true", True, id="true decides from the right"),
        pytest.param("[0, 1].exists(x, x == 1 || {0})", True, id="one that holds is enough"),
    ],
)
def test_logic_looks_past_errors(expression: str, expected: bool) -> None:
    assert matches(expression.replace("{0}", attribute("nothing"))) is expected


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param(attribute("nothing"), "no such key: nothing", id="unknown attribute"),
        pytest.param(
            'device.attributes["nobody.example.com"].nothing',
            "no such key: nothing",
            id="attribute of an unknown domain",
        ),
        pytest.param(f'device.capacity["{DRIVER}"].nothing.sign() == 0', "no such key: nothing", id="unknown capacity"),
        pytest.param("true && " + attribute("nothing"), "no such key: nothing", id="nothing decides"),
        pytest.param(attribute("model > 1"), "no such overload", id="a string is not a number"),
        pytest.param(attribute("model.isGreaterThan(semver('1.0.0'))"), "no such overload", id="not a version"),
        pytest.param(
            "quantity('1').compareTo(dyn(semver('1.0.0'))) == 0", "no such overload", id="quantity and version"
        ),
        pytest.param(
            "semver('1.0.0').compareTo(dyn(quantity('1'))) == 0", "no such overload", id="version and quantity"
        ),
        pytest.param("[1][1] == 1", "index out of bounds: 1", id="beyond the list"),
        pytest.param("1 / (3 - 3) == 0", "division by zero", id="division by zero"),
        pytest.param("9223372036854775807 + 1 > 0", "integer overflow", id="overflow"),
        pytest.param("-9223372036854775808 % -1 == 0", "integer overflow", id="overflow of a remainder"),
        pytest.param("quantity('x') == quantity('1')", "quantities must match", id="not a quantity"),
        pytest.param("semver('1') == semver('1.0.0')", "No Major.Minor.Patch elements found", id="not a version text"),
        pytest.param(
            "semver('1.2.3.4') == semver('1.0.0')",
            'Invalid character(s) found in patch number "3.4"',
            id="four numbers of a version",
        ),
        pytest.param("quantity('1.5').asInteger() == 1", "cannot convert value to integer", id="not whole"),
        pytest.param(attribute("model"), "CEL result of type string could not be converted to bool", id="not a bool"),
        pytest.param("'a'.matches('(?=a)' + '')", "invalid or unsupported Perl syntax", id="RE2 has no lookahead"),
        pytest.param(attribute("?nothing.value() == 1"), "optional.none() dereference", id="an empty optional"),
        pytest.param("semver('1.0-rc', true) == semver('1.0.0')", "short version cannot contain", id="short version"),
        pytest.param(
            "semver('x', true) == semver('1.0.0')", 'major number "x"', id="no number that could be normalised"
        ),
        pytest.param("[].min() == 1", "min called on empty list", id="nothing to choose from"),
    ],
)
def test_runtime_errors(expression: str, text: str) -> None:
    with pytest.raises(CelError) as caught:
        matches(expression)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param("noSuchVar", "undeclared reference to 'noSuchVar'", id="unknown name"),
        pytest.param("noSuchFunction(1)", "undeclared reference to 'noSuchFunction'", id="unknown function"),
        pytest.param("'a'.noSuchMethod()", "undeclared reference to 'noSuchMethod'", id="unknown method"),
        pytest.param("url('https://example.com/').getPort() == ''", "'getPort' is not modelled", id="not modelled"),
        pytest.param("sets.nothing([1], [1])", "'sets.nothing' is not modelled", id="of a library"),
        pytest.param("sets.contains([1])", "no matching overload for 'sets.contains'", id="of a library, too few"),
        pytest.param("device.nothing", "undefined field 'nothing'", id="unknown field of the device"),
        pytest.param("has(device.nothing)", "undefined field 'nothing'", id="has with an unknown field"),
        pytest.param("has(device)", "invalid argument to has() macro", id="has of no field"),
        pytest.param("[1].all(1, true)", "argument must be a simple name", id="quantifier without a variable"),
        pytest.param("quantity()", "found no matching overload for 'quantity'", id="too few arguments"),
        pytest.param("true &&", "ERROR: <input>:1:8: Syntax error: unexpected '<EOF>'", id="cut off"),
        pytest.param("\ntrue true", "ERROR: <input>:2:6: Syntax error", id="after an empty line"),
        pytest.param("device.in == 1", "unexpected 'in'", id="field named as an operator"),
        pytest.param("device.true == 1", "unexpected 'true'", id="field named as a value"),
        pytest.param("true\n  true", "ERROR: <input>:2:3: Syntax error", id="line and column"),
        pytest.param("'a", "token recognition error", id="open string"),
        pytest.param("#", "token recognition error", id="no such character"),
        pytest.param("9223372036854775808 > 0", "invalid int literal", id="too large"),
        pytest.param(r"'\q' == ''", "unable to unescape string", id="unknown escape"),
        pytest.param("if", "reserved identifier: if", id="reserved"),
        pytest.param("b'a' == b'a'", "bytes literals are not modelled", id="bytes"),
        pytest.param("(" * 300 + "true" + ")" * 300, "recursion limit", id="too deep"),
    ],
)
def test_compile_errors(expression: str, text: str) -> None:
    with pytest.raises(CelCompileError) as caught:
        compile_cel_selector(expression)
    assert "compilation failed: " in str(caught.value)
    assert text in str(caught.value)


def test_without_consumable_capacity_there_is_no_such_field() -> None:
    with pytest.raises(CelCompileError, match="undefined field 'allowMultipleAllocations'"):
        matches("device.allowMultipleAllocations", shareable=False)
    assert matches("device.allowMultipleAllocations", device(allowMultipleAllocations=True))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({}, "attribute odd: unsupported attribute value", id="of a type yet unknown"),
        pytest.param({"version": "1.02.3"}, "attribute odd: parse semantic version", id="version with a leading zero"),
    ],
)
def test_attributes_that_cannot_be_read(value: dict[str, Any], text: str) -> None:
    with pytest.raises(CelError, match=text):
        matches("true", device({"odd": value}))


@given(st.text(max_size=20) | st.text("()[]{}.,:?!&|=<>+-*/%'\"\\ab01 ", max_size=20))
def test_any_text_is_a_selector_or_refused(text: str) -> None:
    result: bool | str
    try:
        result = matches(text)
    except (CelCompileError, CelError) as problem:
        result = str(problem)
    assert isinstance(result, bool) or result


@given(st.integers(-(2**31), 2**31), st.integers(-(2**31), 2**31).filter(bool))
def test_division_and_remainder_belong_together(left: int, right: int) -> None:
    assert matches(f"({left}) / ({right}) * ({right}) + ({left}) % ({right}) == ({left})")


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["&&", "||"])
def test_long_chains(operator: str) -> None:
    assert matches(f" {operator} ".join(["1 < 2"] * 3000))


LISTS = device(
    {
        "index": {"int": 3},
        "ecc": {"bool": True},
        "model": {"string": "a100"},
        "firmware": {"version": "1.2.3"},
        "numas": {"ints": [1, 2]},
        "lanes": {"bools": [True, False]},
        "links": {"strings": ["a", "b"]},
        "drivers": {"versions": ["1.0.0", "2.0.0"]},
    }
)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(attribute("numas == [1, 2]"), id="numbers"),
        pytest.param("!" + attribute("numas.exists(each, each > 2)"), id="none of the numbers"),
        pytest.param(attribute("lanes[0] && true"), id="truth values"),
        pytest.param("'b' in " + attribute("links"), id="texts"),
        pytest.param(attribute("drivers[1].isGreaterThan(semver('1.5.0'))"), id="versions"),
        pytest.param(attribute("index == 3"), id="one number beside lists"),
        pytest.param(attribute("ecc"), id="one truth value beside lists"),
        pytest.param(attribute("model == 'a100'"), id="one text beside lists"),
        pytest.param(attribute("firmware == semver('1.2.3')"), id="one version beside lists"),
    ],
)
def test_attributes_that_are_lists(expression: str) -> None:
    """DRAListTypeAttributes."""
    assert compile_cel_selector(expression, lists=True).matches(DRIVER, LISTS)


def test_subtraction() -> None:
    assert matches("5 - 3 == 2")
    assert matches("5.5 - 3.0 == 2.5")
    assert matches("-2 - 3 == -5")
