"""Selectors that use time, addresses, lists and the macros with two variables; results by cel-go's and Kubernetes' own
rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.dynamic_resources import Device
from ksched_cli.plugins.lib.cel.expression import compile_cel_selector
from ksched_cli.plugins.lib.cel.values import CelCompileError, CelError
from tests.plugins.lib.devices.resources import device

DEVICE = msgspec.convert(device("gpu", attributes={"day": "2026-03-01T12:30:45.5Z", "address": "10.1.2.3"}), Device)


def matches(expression: str) -> bool:
    return compile_cel_selector(expression).matches("driver.example.com", DEVICE)


ABROAD = "timestamp('2026-01-01T01:30:00+02:00')"
DAY = "timestamp(device.attributes['driver.example.com'].day)"
TO_DURATION = "type conversion error from 'string' to 'google.protobuf.Duration'"
TO_TIMESTAMP = "type conversion error from 'string' to 'google.protobuf.Timestamp'"
ADDRESS = "ip(device.attributes['driver.example.com'].address)"


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(f"{DAY} > timestamp('2026-02-28T23:59:59Z')", id="later"),
        pytest.param("timestamp('2026-01-01T02:00:00+02:00') == timestamp('2026-01-01T00:00:00Z')", id="offset"),
        pytest.param("timestamp('2026-01-01T00:00:00-01:30') == timestamp('2026-01-01T01:30:00Z')", id="behind"),
        pytest.param(
            "timestamp('2026-01-02T00:00:00+24:00') == timestamp('2026-01-01T00:00:00Z')", id="offset of 24 hours"
        ),
        pytest.param(
            "timestamp('2026-01-01T01:00:00+00:60') == timestamp('2026-01-01T00:00:00Z')", id="offset of 60 minutes"
        ),
        pytest.param(f"{DAY} - timestamp('2026-03-01T12:30:45Z') == duration('500ms')", id="between two"),
        pytest.param(f"{DAY} + duration('24h') > timestamp('2026-03-02T00:00:00Z')", id="a day after"),
        pytest.param(f"duration('24h') + {DAY} == {DAY} + duration('24h')", id="either way round"),
        pytest.param(f"{DAY} - duration('1h') < {DAY}", id="an hour before"),
        pytest.param("duration('1h30m') == duration('5400s')", id="parts of a duration"),
        pytest.param("duration('1.5h') - duration('30m') == duration('3600s')", id="fractions of a duration"),
        pytest.param("-duration('1m') < duration('0')", id="less than nothing"),
        pytest.param("duration('-1h').getMinutes() == -60", id="whole minutes of a negative one"),
        pytest.param("duration('1h30m59s').getHours() == 1", id="whole hours"),
        pytest.param("duration('90s').getSeconds() == 90", id="whole seconds"),
        pytest.param("duration('1.2345s').getMilliseconds() == 1234", id="whole milliseconds"),
        pytest.param("duration(duration('1s')) == duration('1s')", id="of itself"),
        pytest.param("string(duration('1.5s')) == '1.5s'", id="written"),
        pytest.param("string(duration('-1m')) == '-60s' && string(duration('0')) == '0s'", id="negative, and none"),
        pytest.param(
            "string(timestamp('0001-01-01T00:00:00.5Z')) == '0001-01-01T00:00:00.5Z' "
            "&& string(timestamp(0)) == '1970-01-01T00:00:00Z'",
            id="four digits of a year",
        ),
        pytest.param(
            "string(duration('9223372036854775807ns')) == '9223372036.854775807s' "
            "&& string(duration('-9223372036854775808ns')) == '-9223372036.854775808s'",
            id="longest",
        ),
        pytest.param("timestamp(253402300799) > timestamp(-62135596800)", id="last and first moment"),
        pytest.param(
            "timestamp('2026-01-01T00:00:00,1234567899Z') == timestamp('2026-01-01T00:00:00.123456789Z')",
            id="a comma, and digits after the ninth",
        ),
        pytest.param("[duration('1s'), duration('2s')].sum() == duration('3s')", id="sum"),
        pytest.param(f"string({DAY}) == '2026-03-01T12:30:45.5Z'", id="moment, written"),
        pytest.param(f"int({DAY}) == 1772368245", id="seconds since 1970"),
        pytest.param("timestamp(0) == timestamp('1970-01-01T00:00:00Z')", id="of seconds"),
        pytest.param("timestamp(timestamp(0)) == timestamp(0)", id="moment of itself"),
        pytest.param(f"{DAY}.getFullYear() == 2026 && {DAY}.getMonth() == 2", id="months from nought"),
        pytest.param(f"{DAY}.getDate() == 1 && {DAY}.getDayOfMonth() == 0", id="days from one and from nought"),
        pytest.param(f"{DAY}.getDayOfWeek() == 0 && {DAY}.getDayOfYear() == 59", id="Sunday"),
        pytest.param(f"{DAY}.getHours() == 12 && {DAY}.getMinutes() == 30", id="time of day"),
        pytest.param(f"{DAY}.getSeconds() == 45 && {DAY}.getMilliseconds() == 500", id="within the minute"),
        pytest.param(f"{ABROAD}.getHours() == 1 && {ABROAD}.getMinutes() == 30", id="time of day with an offset"),
        pytest.param(f"{ABROAD}.getFullYear() == 2026 && {ABROAD}.getMonth() == 0", id="year with an offset"),
        pytest.param(f"{ABROAD}.getDate() == 1 && {ABROAD}.getDayOfWeek() == 4", id="day with an offset"),
        pytest.param(f"string({ABROAD}) == '2026-01-01T01:30:00+02:00'", id="written with an offset"),
        pytest.param(
            f"string({ABROAD} + duration('1s')) == '2026-01-01T01:30:01+02:00' "
            f"&& string(duration('1s') + {ABROAD}) == '2026-01-01T01:30:01+02:00'",
            id="a sum keeps the offset",
        ),
        pytest.param("string(timestamp('2026-01-01T01:30:00-00:30')) == '2026-01-01T01:30:00-00:30'", id="behind UTC"),
        pytest.param("string(timestamp('2026-01-01T01:30:00-00:00')) == '2026-01-01T01:30:00Z'", id="offset of nought"),
        pytest.param("string(timestamp('2026-01-01T1:30:00Z')) == '2026-01-01T01:30:00Z'", id="hour of one digit"),
        pytest.param("timestamp('0000-12-31T23:30:00-01:00').getFullYear() == 0", id="local year before the first"),
        pytest.param(
            "(timestamp('9999-12-31T23:30:00+01:00') + duration('1h')).getFullYear() == 10000",
            id="local year after the last",
        ),
        pytest.param(
            "!optional.ofNonZeroValue(duration('0')).hasValue() "
            "&& !optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')).hasValue() "
            "&& optional.ofNonZeroValue(timestamp(0)).hasValue()",
            id="zero values",
        ),
        pytest.param("dyn(duration('1s')) != timestamp(1)", id="different types are not equal"),
        pytest.param("[duration('2s'), duration('1s')].sort()[0] == duration('1s')", id="sorted"),
    ],
)
def test_time(expression: str) -> None:
    assert matches(expression)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(f"cidr('10.0.0.0/8').containsIP({ADDRESS})", id="within"),
        pytest.param("!cidr('10.0.0.0/8').containsIP('11.0.0.1')", id="outside, as text"),
        pytest.param("!cidr('10.0.0.0/8').containsIP('::1')", id="of the other family"),
        pytest.param("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", id="narrower"),
        pytest.param("!cidr('10.0.0.0/8').containsCIDR('11.0.0.0/16')", id="narrower, elsewhere"),
        pytest.param("cidr('10.0.0.0/8').containsCIDR('10.0.0.0/8')", id="itself"),
        pytest.param("cidr('0.0.0.0/0').containsIP('1.2.3.4')", id="shortest mask"),
        pytest.param("cidr('10.0.0.1/32').containsIP('10.0.0.1')", id="longest mask"),
        pytest.param("!cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))", id="wider"),
        pytest.param("cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')", id="masked"),
        pytest.param("cidr('10.1.2.3/8') != cidr('10.0.0.0/8')", id="bits after the mask"),
        pytest.param("cidr('10.1.2.3/8').ip() == ip('10.1.2.3')", id="address of a range"),
        pytest.param("cidr('fd00::/64').prefixLength() == 64", id="length of the mask"),
        pytest.param(f"{ADDRESS}.family() == 4 && ip('::1').family() == 6", id="families"),
        pytest.param("ip('0.0.0.0').isUnspecified() && ip('::1').isLoopback()", id="kinds"),
        pytest.param("ip('169.254.0.1').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast()", id="of the link"),
        pytest.param("ip('224.0.0.9').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()", id="to many"),
        pytest.param("!ip('239.0.0.1').isLinkLocalMulticast()", id="to many, farther"),
        pytest.param(
            "!ip('ff05::1').isLinkLocalMulticast() && !ip('fd02::1').isLinkLocalMulticast()", id="not to many"
        ),
        pytest.param(
            "!['0.0.0.0', '127.0.0.1', '224.0.0.9', 'fe80::1'].exists(each, ip(each).isGlobalUnicast())",
            id="of a kind that is not global",
        ),
        pytest.param(f"{ADDRESS}.isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()", id="global"),
        pytest.param("isIP('::1') && !isIP('::ffff:1.2.3.4') && !isIP('1.2.3') && !isIP('fe80::1%eth0')", id="is one"),
        pytest.param("!isIP('01.2.3.4') && !isIP('a.b.c.d') && !isIP('')", id="is none"),
        pytest.param("isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/33')", id="is a range"),
        pytest.param("ip.isCanonical('::1') && !ip.isCanonical('0:0::1')", id="as it is written"),
        pytest.param("string(ip('2001:DB8::1')) == '2001:db8::1'", id="written"),
        pytest.param("string(cidr('10.0.0.0/8')) == '10.0.0.0/8'", id="range, written"),
    ],
)
def test_addresses(expression: str) -> None:
    assert matches(expression)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("[1, 2, 3, 4].slice(1, 3) == [2, 3]", id="slice"),
        pytest.param("[1, 2].slice(0, 2) == [1, 2] && [1, 2].slice(1, 1) == []", id="all and nothing"),
        pytest.param("[[1], 2].flatten(0) == dyn([[1], 2])", id="flatten never"),
        pytest.param("[[1, [2]], [3]].flatten() == dyn([1, [2], 3])", id="flatten once"),
        pytest.param("[[1, [2]], [3]].flatten(2) == [1, 2, 3]", id="flatten twice"),
        pytest.param("[3, 1, 2].sort() == [1, 2, 3]", id="sort"),
        pytest.param("['b', 'a'].sort() == ['a', 'b'] && [].sort() == []", id="sort texts and nothing"),
        pytest.param("[1, 2, 1, dyn(1.0)].distinct() == [1, 2]", id="distinct"),
        pytest.param("[1, 2, 3].reverse() == [3, 2, 1]", id="reverse"),
        pytest.param("lists.range(3) == [0, 1, 2] && lists.range(0) == []", id="range"),
        pytest.param("[1, 2].first().value() == 1 && [1, 2].last().value() == 2", id="ends"),
        pytest.param("![].first().hasValue()", id="no end"),
        pytest.param("[optional.of(1), optional.none()].unwrapOpt() == [1]", id="values that are there"),
        pytest.param("optional.unwrap([optional.of(2), optional.none()]) == [2]", id="likewise, as a function"),
        pytest.param("[1, 2, 3].all(at, value, at < value)", id="all of two"),
        pytest.param("{'a': 1, 'b': 2}.exists(key, value, key == 'b' && value == 2)", id="one of two"),
        pytest.param("{'a': 1, 'b': 1}.exists(key, value, value == 'x' || key == 'b')", id="one of two, past an error"),
        pytest.param("![1, 1].existsOne(at, value, value == 1)", id="more than one"),
        pytest.param("[1, 2].exists_one(at, value, value == 1) && [1, 2].existsOne(value, value == 1)", id="just one"),
        pytest.param("[1, 2, 3].transformList(at, value, at * value) == [0, 2, 6]", id="list of two"),
        pytest.param("[1, 2, 3].transformList(at, value, at > 0, value) == [2, 3]", id="some of them"),
        pytest.param("{'a': 'x'}.transformMap(key, value, key + value) == {'a': 'ax'}", id="map of two"),
        pytest.param("[5, 6].transformMap(at, value, at == 1, value) == {1: 6}", id="some entries"),
    ],
)
def test_lists(expression: str) -> None:
    assert matches(expression)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param("duration(string(1)) == duration('1s')", TO_DURATION, id="no unit"),
        pytest.param("duration(dyn('9999999h')) > duration('1s')", TO_DURATION, id="too long"),
        pytest.param("duration(dyn('')) == duration('0')", TO_DURATION, id="no text"),
        pytest.param("duration(dyn('9223372036854775808ns')) > duration('0')", TO_DURATION, id="a nanosecond too long"),
        pytest.param("duration(dyn('-9223372036854775809ns')) < duration('0')", TO_DURATION, id="too far back"),
        pytest.param(
            "duration('9223372036854775807ns') + duration('1ns') > duration('0')", "integer overflow", id="sum"
        ),
        pytest.param("-duration('-9223372036854775808ns') > duration('0')", "integer overflow", id="negated"),
        pytest.param("dyn(duration('1s')) - 1 == duration('0')", "no such overload", id="duration minus a number"),
        pytest.param("timestamp(dyn('yesterday')) > timestamp(0)", TO_TIMESTAMP, id="no moment"),
        pytest.param("timestamp(dyn('2026-02-30T00:00:00Z')) > timestamp(0)", TO_TIMESTAMP, id="no such day"),
        pytest.param("timestamp(dyn('2026-01-01t00:00:00z')) > timestamp(0)", TO_TIMESTAMP, id="small letters"),
        pytest.param("timestamp(-62135596801) < timestamp(0)", "timestamp overflow", id="before the year 1"),
        pytest.param("timestamp(253402300800) > timestamp(0)", "timestamp overflow", id="after the year 9999"),
        pytest.param("timestamp(dyn('0000-01-01T00:00:00Z')) < timestamp(0)", "timestamp overflow", id="year 0"),
        pytest.param("timestamp(dyn('2026-01-01T00:00:00+25:00')) > timestamp(0)", TO_TIMESTAMP, id="offset of a day"),
        pytest.param("timestamp(dyn('2026-01-01T00:00:00+01:61')) > timestamp(0)", TO_TIMESTAMP, id="offset's minutes"),
        pytest.param(
            "timestamp(0) - duration('-9223372036854775808ns') > timestamp(0)", "integer overflow", id="moment before"
        ),
        pytest.param("timestamp(true) == timestamp(0)", "no such overload", id="moment of a bool"),
        pytest.param("duration(1) == duration('1s')", "no such overload", id="duration of a number"),
        pytest.param("dyn(duration('1s')) > timestamp(0)", "no such overload", id="two sorts of time"),
        pytest.param("dyn(timestamp(0)) + timestamp(0) > timestamp(0)", "no such overload", id="sum of moments"),
        pytest.param("duration('1s').getFullYear() == 1", "no such overload", id="year of a duration"),
        pytest.param("'1s'.getMilliseconds() == 1", "no such overload", id="milliseconds of a text"),
        pytest.param("ip('1.2.3').family() == 4", "IPv4 address too short", id="too few numbers"),
        pytest.param("ip('1.2.3.255.5').family() == 4", "IPv4 address too long", id="too many numbers"),
        pytest.param("ip('1.2.3.256').family() == 4", "IPv4 field has value >255", id="number too large"),
        pytest.param("ip('1..2.3').family() == 4", "at least one digit", id="number missing"),
        pytest.param("ip('01.2.3.4').family() == 4", "octet with leading zero", id="leading zero"),
        pytest.param("ip('1.2.3.x').family() == 4", "unexpected character", id="no number"),
        pytest.param("ip('1.2.3.²').family() == 4", "unexpected character", id="a number, but no digit"),
        pytest.param("cidr('10.0.0.0/²').prefixLength() == 2", "bad bits after slash", id="mask of no digit"),
        pytest.param("ip('x').family() == 4", "unable to parse IP", id="nothing like an address"),
        pytest.param("ip('::ffff:1.2.3.4').family() == 4", "IPv4-mapped IPv6 address", id="mapped"),
        pytest.param("ip('fe80::1%eth0').family() == 6", "with zone value is not allowed", id="zone"),
        pytest.param("ip(1).family() == 4", "no such overload", id="address of a number"),
        pytest.param("isIP(1)", "no such overload", id="asked of a number"),
        pytest.param("'a'.family() == 4", "no such overload", id="family of a text"),
        pytest.param("cidr('10.0.0.0').prefixLength() == 8", "no '/'", id="no mask"),
        pytest.param("cidr('10.0.0.0/08').prefixLength() == 8", "bad bits after slash", id="mask with a zero"),
        pytest.param("cidr('10.0.0.0/33').prefixLength() == 8", "prefix length out of range", id="mask too long"),
        pytest.param("cidr('10.0.0/8').prefixLength() == 8", "IPv4 address too short", id="range of no address"),
        pytest.param("cidr('fe80::%e/8').prefixLength() == 8", "IPv6 zones cannot be present", id="range with a zone"),
        pytest.param("cidr('::ffff:1.2.3.4/100').prefixLength() == 8", "IPv4-mapped", id="mapped range"),
        pytest.param("cidr(1).prefixLength() == 8", "no such overload", id="range of a number"),
        pytest.param("'a'.prefixLength() == 8", "no such overload", id="mask of a text"),
        pytest.param("[1].slice(-1, 1) == []", "negative indexes not supported", id="slice from before"),
        pytest.param("[1].slice(1, 0) == []", "start index must be less than or equal", id="slice backwards"),
        pytest.param("[1].slice(0, 2) == []", "list is length 1", id="slice beyond"),
        pytest.param("[1].flatten(-1) == []", "level must be non-negative", id="flatten upwards"),
        pytest.param("[1].flatten('a') == []", "no such overload", id="flatten by a text"),
        pytest.param("dyn([1, 'a']).sort() == []", "list elements must have the same type", id="sort of everything"),
        pytest.param("[{'a': 1}, {'a': 2}].sort() == []", "no such overload", id="sort of maps"),
        pytest.param("lists.range(-1) == []", "size must be non-negative, got -1", id="negative range"),
        pytest.param("lists.range(10000001) == []", "exceeds maximum allowed", id="huge range"),
        pytest.param("'a'.first().hasValue()", "no such overload", id="first of a text"),
        pytest.param("[optional.of(1), dyn(1)].unwrapOpt() == [1]", "no such overload", id="not all can be unwrapped"),
        pytest.param(
            "1.all(at, value, true)", "got 'types.Int', expected iterable type", id="two variables over a number"
        ),
        pytest.param("dyn('a').exists(each, true)", "got 'types.String', expected", id="over a text"),
        pytest.param("dyn(true).exists(each, true)", "got 'types.Bool', expected", id="over a bool"),
        pytest.param("dyn(null).exists(each, true)", "got 'types.Null', expected", id="over null"),
        pytest.param("dyn(timestamp(0)).exists(each, true)", "got 'types.Timestamp', expected", id="over a moment"),
        pytest.param("dyn(semver('1.0.0')).exists(each, true)", "got 'cel.Semver', expected", id="over a version"),
        pytest.param(
            "dyn(optional.of(1)).exists(each, true)", "got '*types.Optional', expected", id="over an optional"
        ),
    ],
)
def test_what_fails_on_a_device(expression: str, text: str) -> None:
    with pytest.raises(CelError) as caught:
        matches(expression)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param("duration('soon') > duration('1s')", "invalid duration argument", id="duration"),
        pytest.param("timestamp('soon') > timestamp(0)", "invalid timestamp argument", id="moment"),
        pytest.param(
            "true || 'a'.matches('(?=a)')", "invalid matches argument", id="pattern, even where it is not asked"
        ),
        pytest.param("timestamp(0).getHours('Europe/Paris') == 1", "'getHours' is not modelled", id="time zone"),
        pytest.param("[1].sortBy(each, each) == [1]", "'sortBy' is not modelled", id="sorted by a key"),
        pytest.param("[1].transformMapEntry(at, each, {each: at}) == {1: 0}", "is not modelled", id="entries"),
        pytest.param("[1].all(at, 1, true)", "argument must be a simple name", id="second variable is no name"),
        pytest.param("[1].transformList(at, each)", "undeclared reference", id="nothing to transform into"),
        pytest.param("[1].all(at, each, other)", "undeclared reference to 'other'", id="unknown name within"),
    ],
)
def test_what_is_refused_at_once(expression: str, text: str) -> None:
    with pytest.raises(CelCompileError) as caught:
        matches(expression)
    assert text in str(caught.value)


MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


@given(MOMENTS, st.timedeltas(timedelta(days=-1000), timedelta(days=1000)))
def test_moments_are_those_of_the_calendar(moment: datetime, span: timedelta) -> None:
    micro = timedelta(microseconds=1)
    start, later = f"timestamp('{moment.isoformat()}')", f"timestamp('{(moment + span).isoformat()}')"
    assert matches(f"{start} + duration('{span // micro}us') == {later}")
    assert matches(f"{start}.getDayOfYear() == {moment.timetuple().tm_yday - 1}")


@given(st.ip_addresses(v=4), st.ip_addresses(v=4), st.integers(0, 32))
def test_ranges_hold_what_python_says(network: object, address: object, bits: int) -> None:
    inside = ip_address(str(address)) in ip_network(f"{network}/{bits}", strict=False)
    assert matches(f"cidr('{network}/{bits}').containsIP('{address}')") is inside


@pytest.mark.parametrize("text", ["true", "True", "TRUE", "t", "1"])
def test_texts_that_are_true(text: str) -> None:
    assert matches(f"bool('{text}')")
    assert matches(f"string(bool('{text}')) == 'true'")


@pytest.mark.parametrize("text", ["false", "False", "FALSE", "f", "0"])
def test_texts_that_are_false(text: str) -> None:
    assert not matches(f"bool('{text}')")
    assert matches(f"string(bool('{text}')) == 'false'")


def test_a_text_that_is_no_bool() -> None:
    with pytest.raises(CelError, match="type conversion error from 'string' to 'bool'"):
        matches("bool('yes')")


@pytest.mark.parametrize(
    ("left", "right", "holding"),
    [
        pytest.param("1", "2", {"<", "<=", "!="}, id="a smaller number"),
        pytest.param("2", "2", {"<=", ">=", "=="}, id="equal numbers"),
        pytest.param("3", "2", {">", ">=", "!="}, id="a larger number"),
        pytest.param("'a'", "'b'", {"<", "<=", "!="}, id="an earlier text"),
        pytest.param("false", "true", {"<", "<=", "!="}, id="false and true"),
        pytest.param("duration('2s')", "duration('1s')", {">", ">=", "!="}, id="a longer time"),
    ],
)
def test_comparisons(left: str, right: str, holding: set[str]) -> None:
    operators = ("<", "<=", ">", ">=", "==", "!=")
    assert {operator for operator in operators if matches(f"{left} {operator} {right}")} == holding
