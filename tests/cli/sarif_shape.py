"""The part of SARIF 2.1.0 that ksched writes, as a JSON Schema of our own.

The OASIS schema (https://docs.oasis-open.org/sarif/sarif/v2.1.0/) is under the OASIS IPR policy and is not copied here.
This says for the objects that occur which properties they may have, which they must have, and of which type, as
sections 3.13 to 3.49 of the standard have it; the OASIS schema allows no others either.
"""

from __future__ import annotations

from typing import Any

TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
URI = {"type": "string", "format": "uri-reference", "pattern": r"^[^\s\\]*$"}


def shape(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def many(items: dict[str, Any], **bounds: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **bounds}


BAG = {"type": "object"}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
MESSAGE = shape(("text",), text=TEXT, markdown=TEXT)
RULE = shape(
    ("id",),
    id=TEXT,
    name=TEXT,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=MESSAGE,
    defaultConfiguration=shape((), level=LEVEL),
    properties=BAG,
)
DRIVER = shape(
    ("name",),
    name=TEXT,
    semanticVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
    rules=many(RULE, uniqueItems=True),
)
ARTIFACT = shape((), uri=URI, uriBaseId=TEXT)
PHYSICAL = shape(
    ("artifactLocation",), artifactLocation=ARTIFACT, region=shape((), startLine={"type": "integer", "minimum": 1})
)
LOGICAL = shape((), fullyQualifiedName=TEXT, name=TEXT, kind=TEXT)
LOCATION = shape((), physicalLocation=PHYSICAL, logicalLocations=many(LOGICAL, uniqueItems=True))
RESULT = shape(
    ("message",),
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": -1},
    level=LEVEL,
    message=MESSAGE,
    locations=many(LOCATION),
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
    properties=BAG,
)
RUN = shape(
    ("tool",),
    tool=shape(("driver",), driver=DRIVER),
    automationDetails=shape((), id=TEXT),
    invocations=many(
        shape(
            ("executionSuccessful",),
            executionSuccessful={"type": "boolean"},
            toolExecutionNotifications=many(shape(("message",), level=LEVEL, message=shape(("text",), text=TEXT))),
        ),
        uniqueItems=True,
    ),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=many(RESULT),
)
SHAPE = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **shape(
        ("version", "runs"),
        **{"$schema": {"type": "string", "format": "uri"}, "version": {"const": "2.1.0"}, "runs": many(RUN)},
    ),
}
