"""Texts, numbers, conversions and members in selectors: each function at its limits, and what it refuses. The results are
those of cel-go (common/types, ext/strings.go) and of the Kubernetes libraries (apiserver/pkg/cel/library)."""

from __future__ import annotations

import pytest

from ksched_cli.api.dynamic_resources import Device
from ksched_cli.plugins.lib.cel.expression import compile_cel_selector
from ksched_cli.plugins.lib.cel.values import CelCompileError, CelError

DEVICE = Device("gpu")


def matches(expression: str, *, lists: bool = False) -> bool:
    return compile_cel_selector(expression, lists=lists).matches("driver.example.com", DEVICE)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("'a1b22'.find('[0-9]+') == '1' && 'ab'.find('[0-9]') == ''", id="first match, or an empty text"),
        pytest.param("'a1b22'.findAll('[0-9]+') == ['1', '22']", id="all matches"),
        pytest.param("'a1b2c3'.findAll('[0-9]', 2) == ['1', '2'] && 'a1'.findAll('[0-9]', 0) == []", id="some matches"),
        pytest.param("'abc'.charAt(0) == 'a' && 'abc'.charAt(2) == 'c'", id="first and last letter"),
        pytest.param("'abc'.charAt(3) == ''", id="after the last letter"),
        pytest.param("'abca'.indexOf('a') == 0 && 'abca'.indexOf('a', 1) == 3", id="index from a place"),
        pytest.param("'abc'.indexOf('x') == -1 && 'abc'.indexOf('a', 3) == -1", id="no index"),
        pytest.param("'abca'.lastIndexOf('a') == 3 && 'abc'.lastIndexOf('x') == -1", id="last index"),
        pytest.param("['b', 'a', 'a'].indexOf('a') == 1 && ['b'].indexOf('a') == -1", id="index in a list"),
        pytest.param("['a', 'a', 'b'].lastIndexOf('a') == 1 && ['b'].lastIndexOf('a') == -1", id="last in a list"),
        pytest.param("'aaa'.replace('a', 'b') == 'bbb'", id="replace all"),
        pytest.param("'aaa'.replace('a', 'b', 2) == 'bba' && 'aaa'.replace('a', 'b', 0) == 'aaa'", id="replace some"),
        pytest.param("'aaa'.replace('a', 'b', -1) == 'bbb'", id="a negative limit is none"),
        pytest.param(
            "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'a,b'.split(',', -1) == ['a', 'b']", id="split, limited"
        ),
        pytest.param("'a,b'.split(',', 0) == [] && 'a,b'.split(',', 1) == ['a,b']", id="split into none and one"),
        pytest.param("'abc'.split('') == ['a', 'b', 'c']", id="split into letters"),
        pytest.param("'abc'.split('', 2) == ['a', 'bc'] && 'abc'.split('', 3) == ['a', 'b', 'c']", id="some letters"),
        pytest.param("'abc'.split('', 1) == ['abc'] && 'abc'.split('', 0) == []", id="all letters in one, and none"),
        pytest.param("'ab'.split('', 5) == ['a', 'b']", id="fewer letters than the limit"),
        pytest.param("'abc'.substring(1) == 'bc' && 'abc'.substring(3) == ''", id="substring to the end"),
        pytest.param("'abc'.substring(0, 3) == 'abc' && 'abc'.substring(2, 2) == ''", id="all and nothing"),
        pytest.param("'aÄb'.upperAscii() == 'AÄB' && 'AÄ'.lowerAscii() == 'aÄ'", id="only ASCII letters change"),
        pytest.param("['a', 'b'].join() == 'ab' && [].join('-') == ''", id="join"),
        pytest.param("'abc'.contains('b') && !'abc'.contains('d')", id="contains"),
        pytest.param("'abc'.startsWith('ab') && !'abc'.startsWith('b')", id="starts with"),
        pytest.param("'abc'.endsWith('bc') && !'abc'.endsWith('b')", id="ends with"),
    ],
)
def test_texts(expression: str) -> None:
    assert matches(expression)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("int(2.9) == 2 && int(-2.9) == -2 && int(3u) == 3", id="int of numbers"),
        pytest.param("int('-12') == -12 && int('+12') == 12", id="int of a text"),
        pytest.param("uint(2.9) == 2u && uint(3) == 3u && uint('12') == 12u && uint(0.0) == 0u", id="uint"),
        pytest.param("uint('18446744073709551615') == 18446744073709551615u", id="the largest uint"),
        pytest.param("double(2) == 2.0 && double('1e3') == 1000.0 && double(1u) == 1.0", id="double"),
        pytest.param("string(true) == 'true' && string(false) == 'false' && string('a') == 'a'", id="string"),
        pytest.param("string(-5) == '-5' && string(5u) == '5'", id="string of whole numbers"),
        pytest.param(
            "string(2.0) == '2' && string(2.5) == '2.5' && string(-0.25) == '-0.25'", id="string of fractions"
        ),
        pytest.param("string(999999.0) == '999999' && string(1000000.0) == '1e+06'", id="an exponent from 1e+06 on"),
        pytest.param("string(0.0001) == '0.0001' && string(0.00001) == '1e-05'", id="an exponent below 1e-04"),
        pytest.param("string(123456789.0) == '1.23456789e+08' && string(0.0) == '0'", id="the fewest digits"),
        pytest.param("string(1.0 / 0.0) == '+Inf' && string(-1.0 / 0.0) == '-Inf'", id="string of infinity"),
        pytest.param("string(0.0 / 0.0) == 'NaN'", id="string of no number"),
        pytest.param("bool(true) && !bool(false)", id="bool of itself"),
        pytest.param("-(1.5) == -1.5 && -(-1.5) == 1.5 && -(2 + 1) == -3", id="negative numbers"),
        pytest.param("7.0 / 2.0 == 3.5 && 7u / 2u == 3u && 7u % 2u == 1u", id="quotients by type"),
        pytest.param("1.0 / 0.0 > 1e308 && -1.0 / 0.0 < -1e308", id="fractions divided by zero are infinite"),
        pytest.param("!(0.0 / 0.0 == 0.0 / 0.0)", id="zero by zero is no number"),
        pytest.param("1.0 / -0.0 < -1e308 && -1.0 / -0.0 > 1e308", id="a zero has a sign"),
        pytest.param("!(0.0 / -0.0 == 0.0) && !(0.0 / 0.0 / 0.0 == 0.0)", id="no number by zero is none"),
        pytest.param("2 * 3 == 6 && 2.5 * 2.0 == 5.0 && 2u * 3u == 6u", id="products"),
        pytest.param("0u - 0u == 0u && 3u - 2u == 1u", id="unsigned differences"),
        pytest.param("[1.5, 2.0].sum() == 3.5 && [].sum() == 0 && [1u, 2u].sum() == 3u", id="sums"),
        pytest.param("type([1u].sum()) == uint", id="sum of one"),
        pytest.param("9223372036854775806 + 1 == 9223372036854775807", id="up to the largest int"),
        pytest.param("int('-0000000000000000000000007') == -7 && uint('007') == 7u", id="leading zeros"),
        pytest.param("double('-inf') < 0.0 && double('1E3') == 1000.0", id="infinite on purpose"),
        pytest.param("[1, 3, 2].max() == 3 && ['b', 'a'].min() == 'a' && [1].max() == 1", id="extremes"),
        pytest.param("[1, 1, 2].isSorted() && ![2, 1, 3].isSorted() && [].isSorted()", id="sorted"),
        pytest.param("type(1) == int && type('a') == string && type(1u) == uint && type(1) != uint", id="types"),
        pytest.param("type(1.0) == double && type([]) == list && type({}) == map && type(true) == bool", id="more"),
        pytest.param("9223372036854775807 > 9223372036854775806 && -9223372036854775807 - 1 < 0", id="at the limits"),
    ],
)
def test_numbers(expression: str) -> None:
    assert matches(expression)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("{1: 'a'}[1] == 'a' && {1: 'a'}[1.0] == 'a' && {1: 'a'}[1u] == 'a'", id="keys that are numbers"),
        pytest.param("{2: 'b', 1: 'a'}[1] == 'a' && 1 in {2: 'b', 1: 'a'}", id="the second key"),
        pytest.param("{true: 'a'}[true] == 'a' && !(1 in {true: 'a'})", id="true is not 1"),
        pytest.param("[1, 2][1] == 2 && [1, 2][1.0] == 2 && [1, 2][0u] == 1", id="items by any number"),
        pytest.param("optional.of({'a': 1})[?'a'].value() == 1", id="member of an optional"),
        pytest.param("has(optional.of({'a': 1}).a) && !has(optional.of({'a': 1}).b)", id="has of an optional"),
        pytest.param("!has(optional.none().a)", id="has of an empty optional"),
        pytest.param("!optional.none().optMap(x, x + 1).hasValue()", id="nothing to map"),
        pytest.param("!optional.none().optFlatMap(x, optional.of(x)).hasValue()", id="nothing to map flatly"),
        pytest.param("optional.ofNonZeroValue(1).hasValue() && !optional.ofNonZeroValue(0).hasValue()", id="not zero"),
        pytest.param("[1] + [2] == [1, 2] && 'a' + 'b' == 'ab'", id="sums of lists and texts"),
        pytest.param("[1, 2][?0].value() == 1 && ![1, 2][?2].hasValue()", id="first item, and after the last"),
        pytest.param("dyn(semver('1.0.0')) != 1 && dyn([1]) != 1 && dyn({'a': 1}) != 1", id="unequal by type"),
        pytest.param("2 in [1, 2] && !(3 in [1, 2]) && !('b' in {'a': 1})", id="in"),
        pytest.param("[1, 2] != [1] && [1, 2] != [1, 3] && {'a': 1} != {'a': 2} && {'a': 1} != {'b': 1}", id="unequal"),
        pytest.param("{'a': 1, 'b': 2} != {'a': 1, 'b': 3} && {'a': 1, 'b': 2} == {'b': 2, 'a': 1}", id="one of two"),
        pytest.param("sets.contains([1, 2], [2, 1]) && !sets.contains([1, 2], [2, 3])", id="all of a set"),
        pytest.param("!sets.equivalent([1, 2], [1]) && !sets.equivalent([1], [1, 2])", id="sets that differ"),
        pytest.param("sets.intersects([3, 2], [2]) && !sets.intersects([1, 3], [2])", id="sets that meet"),
    ],
)
def test_members(expression: str) -> None:
    assert matches(expression)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param("'abc'.charAt(4) == ''", "index out of range: 4", id="letter beyond the end"),
        pytest.param("'abc'.charAt(-1) == ''", "index out of range: -1", id="letter before the text"),
        pytest.param("'abc'.indexOf('c', -1) == 2", "index out of range: -1", id="index from before the text"),
        pytest.param("'abc'.substring(4) == ''", "index out of range: 4", id="substring beyond the end"),
        pytest.param("'abc'.substring(0, 4) == ''", "index out of range: 4", id="substring with its end beyond"),
        pytest.param("'abc'.substring(-1, 1) == ''", "index out of range: -1", id="substring from before the text"),
        pytest.param("'abc'.substring(2, 1) == ''", "invalid substring range. start: 2, end: 1", id="backwards"),
        pytest.param("dyn(1).charAt(0) == ''", "no such overload", id="letter of a number"),
        pytest.param("dyn(1).split(',') == []", "no such overload", id="parts of a number"),
        pytest.param("dyn('a') + 1 == 'a1'", "no such overload", id="text and number"),
        pytest.param("dyn([1]) + 1 == [1, 1]", "no such overload", id="list and number"),
        pytest.param("int('1.5') == 1", "from 'string' to 'int'", id="int of a fraction"),
        pytest.param("int('9223372036854775808') > 0", "from 'string' to 'int'", id="int of a long text"),
        pytest.param(f"int('{'7' * 5000}') > 0", "from 'string' to 'int'", id="int of a very long text"),
        pytest.param("int(1e19) > 0", "integer overflow", id="int of a large fraction"),
        pytest.param("int(-9223372036854775808.0) < 0", "integer overflow", id="the smallest int as a fraction"),
        pytest.param("int(1.0 / 0.0) > 0", "integer overflow", id="int of infinity"),
        pytest.param("int(dyn(true)) == 1", "no such overload", id="int of a bool"),
        pytest.param("uint('-1') == 1u", "from 'string' to 'uint'", id="uint of a text"),
        pytest.param("uint('18446744073709551616') > 1u", "from 'string' to 'uint'", id="uint of a long text"),
        pytest.param("uint(-1) == 1u", "unsigned integer overflow", id="uint of a negative number"),
        pytest.param("uint(-0.5) == 1u", "unsigned integer overflow", id="uint of a negative fraction"),
        pytest.param("uint(1e20) == 1u", "unsigned integer overflow", id="uint of a large fraction"),
        pytest.param("uint(dyn([])) == 1u", "no such overload", id="uint of a list"),
        pytest.param("double('x') > 0.0", "from 'string' to 'double'", id="double of a text"),
        pytest.param("double(' 1') > 0.0", "from 'string' to 'double'", id="double of a blank"),
        pytest.param("double('1e400') > 0.0", "from 'string' to 'double'", id="double that is too large"),
        pytest.param("double(dyn(true)) > 0.0", "no such overload", id="double of a bool"),
        pytest.param("string(dyn([])) == ''", "no such overload", id="string of a list"),
        pytest.param("bool(dyn(1))", "no such overload", id="bool of a number"),
        pytest.param("0u - 1u == 1u", "unsigned integer overflow", id="less than zero without a sign"),
        pytest.param("18446744073709551615u + 1u > 1u", "unsigned integer overflow", id="more than the largest uint"),
        pytest.param("-9223372036854775807 - 2 < 0", "integer overflow", id="less than the smallest int"),
        pytest.param("-dyn('a') == 'a'", "no such overload", id="negative text"),
        pytest.param("-dyn(1u) == 1u", "no such overload", id="negative uint"),
        pytest.param("5 % 0 == 1", "modulus by zero", id="remainder by zero"),
        pytest.param("dyn(1.5) % 1.0 == 1.0", "no such overload", id="remainder of fractions"),
        pytest.param("[1, 'a'].sum() == 1", "no such overload", id="sum of a text"),
        pytest.param("[1][dyn('a')] == 1", "unsupported index type 'string' in list", id="item by a text"),
        pytest.param("[1][0.5] == 1", "unsupported index type 'double' in list", id="item by a fraction"),
        pytest.param("[1][-1] == 1", "index out of bounds: -1", id="item before the first"),
        pytest.param("dyn(1)['a'] == 1", "no such overload", id="member of a number"),
        pytest.param("{'a': 1}[dyn([])] == 1", "no such overload", id="a list as a key"),
        pytest.param("{1: 'a'}[true] == 'a'", "no such key: true", id="a bool as a key"),
        pytest.param("has(dyn(1).a)", "no such overload", id="has of a number"),
        pytest.param("1 in dyn('a')", "no such overload", id="in a text"),
        pytest.param("dyn(1) && true", "no such overload", id="a number decides nothing"),
        pytest.param("dyn(1) ? true : false", "no such overload", id="a number chooses nothing"),
        pytest.param("optional.of(1).optFlatMap(x, x).hasValue()", "no such overload", id="not an optional"),
        pytest.param("semver('') == semver('1.0.0')", "Version string empty", id="empty version"),
        pytest.param(
            "semver('1.0.0-01') == semver('1.0.0')",
            'Numeric PreRelease version must not contain leading zeroes "01"',
            id="pre-release with a leading zero",
        ),
        pytest.param(
            "semver('1.02.0') == semver('1.0.0')",
            'Minor number must not contain leading zeroes "02"',
            id="leading zero",
        ),
        pytest.param("semver('1.x.0') == semver('1.0.0')", 'found in minor number "x"', id="letter in a version"),
        pytest.param("semver('1.0.0-') == semver('1.0.0')", "Prerelease is empty", id="empty pre-release"),
        pytest.param("semver('1.0.0-a..b') == semver('1.0.0')", "Prerelease is empty", id="part of a pre-release"),
        pytest.param("semver('1.0.0-a.b_c') == semver('1.0.0')", 'found in prerelease "b_c"', id="odd pre-release"),
        pytest.param("semver('1.0.0-a+') == semver('1.0.0')", "Build meta data is empty", id="empty build"),
        pytest.param("semver('1.0.0+a.b_c') == semver('1.0.0')", 'found in build meta data "b_c"', id="odd build"),
    ],
)
def test_what_fails(expression: str, text: str) -> None:
    with pytest.raises(CelError) as caught:
        matches(expression)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "version",
    [
        pytest.param("1.0.0-0", id="zero"),
        pytest.param("1.0.0-0a", id="a word that begins with zero"),
        pytest.param("1.0.0-rc.0.10", id="numbers after a word"),
        pytest.param("0.0.0+01", id="a build may have leading zeros"),
    ],
)
def test_versions_that_are_well_formed(version: str) -> None:
    assert matches(f"isSemver('{version}')")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param("-1u == 1u", "invalid uint literal", id="negative uint"),
        pytest.param("18446744073709551616u == 1u", "invalid uint literal", id="uint too large"),
        pytest.param("-9223372036854775809 < 0", "invalid int literal", id="int too small"),
        pytest.param("cel.bind(1, 2, true)", "variable names must be simple identifiers", id="bind of a number"),
        pytest.param("cel.bind(x, 2)", "variable names must be simple identifiers", id="bind without a result"),
        pytest.param("[1, 2 == [1]", "Syntax error", id="list without its end"),
        pytest.param("{'a' 1} == {}", "Syntax error", id="entry without a colon"),
        pytest.param("true ? 1", "Syntax error", id="choice without an else"),
        pytest.param("[1].includes(1)", "undeclared reference to 'includes'", id="includes without its gate"),
    ],
)
def test_what_does_not_compile(expression: str, text: str) -> None:
    with pytest.raises(CelCompileError) as caught:
        matches(expression)
    assert text in str(caught.value)


LONG = "lists.range({count})"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("dyn(1).includes(1)", True, id="the value itself"),
        pytest.param("dyn(1).includes(2)", False, id="another value"),
        pytest.param("[1, 2].includes(2)", True, id="in the list"),
        pytest.param("[1, 2].includes(3)", False, id="not in the list"),
        pytest.param(f"{LONG.format(count=48)}.includes(47)", True, id="at the 48th place"),
        pytest.param(f"{LONG.format(count=48)}.includes(48)", False, id="a list of 48"),
        pytest.param(f"{LONG.format(count=49)}.includes(0)", True, id="early in a list that is too long"),
    ],
)
def test_includes(expression: str, expected: bool) -> None:
    """With DRAListTypeAttributes."""
    assert matches(expression, lists=True) is expected


def test_includes_reads_48_values() -> None:
    with pytest.raises(CelError, match="'includes' function cannot be applied to lists longer than 48 values"):
        matches(f"{LONG.format(count=49)}.includes(48)", lists=True)
