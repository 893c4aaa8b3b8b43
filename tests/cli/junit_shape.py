"""What Jenkins' junit-10.xsd (jenkinsci/xunit-plugin) allows in a JUnit document, as a table of our own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

_COUNTS = {"tests", "failures", "errors"}
_SUITE = {"name", "group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"} | _COUNTS
# Element to its attributes, those it must have, and the elements that may be in it.
SHAPE: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"name", "time"} | _COUNTS, set(), {"testsuite"}),
    "testsuite": (_SUITE, {"name"} | _COUNTS, {"testsuite", "properties", "testcase", "system-out", "system-err"}),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, {"name", "value"}, set()),
    "testcase": (
        {"name", "time", "classname", "group"},
        {"name"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": ({"type", "message"}, set(), set()),
    "error": ({"type", "message"}, set(), set()),
    "skipped": ({"type", "message"}, set(), set()),
    "system-out": (set(), set(), set()),
    "system-err": (set(), set(), set()),
}
_SECONDS = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")


def junit_mistakes(element: Element) -> Iterator[str]:
    """What the schema would not allow in the element and those in it."""
    attributes, required, inner = SHAPE.get(element.tag, (set(), set(), set()))
    if element.tag not in SHAPE:
        yield f"no element {element.tag}"
    yield from (f"{element.tag} has no attribute {name}" for name in set(element.keys()) - attributes)
    yield from (f"{element.tag} needs {name}" for name in required - set(element.keys()))
    if not _SECONDS.fullmatch(element.get("time", "")):
        yield f"{element.tag} has the time {element.get('time')}"
    for each in element:
        if each.tag not in inner:
            yield f"{each.tag} in {element.tag}"
        yield from junit_mistakes(each)
