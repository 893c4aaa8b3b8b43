"""What may stand in a scenario file. The JSON Schema is made of these types, so that the two cannot part.

The JSON Schema of scenario files, for editors and CI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from msgspec import Meta, Struct, defstruct

from ksched_cli.sources.own_documents import API_VERSION, components_of, json_schema
from ksched_cli.whatif.edits.lib.registry import edit_specs

KIND = "Scenario"

Texts = str | tuple[str, ...]
_TARGETS = "KIND/NAME or KIND/NAMESPACE/NAME of a workload, pod or namespace; * in a pod's name stands for anything"


def _like(flag: str) -> Meta:
    return Meta(description=f"One or several, each written as behind --{flag}.")


class SpreadDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Pods over the domains of a label."""

    of: Annotated[str, Meta(description=f"Whose pods: {_TARGETS}.")] = ""
    topology_key: Annotated[str, Meta(description="A label of nodes; also node, zone or region.")] = "zone"
    max_skew: Annotated[int, Meta(description="By how much their numbers may differ.")] = 1


class ExpectDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """What has to hold once the pods of a step have been placed."""

    schedulable: Annotated[
        bool | Texts | None,
        Meta(description=f"true: every pending pod finds a node; or whose pods do: {_TARGETS}."),
    ] = None
    unschedulable: Annotated[Texts, Meta(description="Whose pods find none.")] = ()
    on: Annotated[
        dict[str, Texts],
        Meta(description="Whose pods are all on one of these nodes; * in a node's name stands for anything."),
    ] = {}
    not_on: Annotated[dict[str, Texts], Meta(description="Whose pods are on none of these nodes.")] = {}
    spread: Annotated[SpreadDocument | tuple[SpreadDocument, ...], Meta(description="How evenly pods are spread.")] = ()
    no_preemption: Annotated[bool, Meta(description="true: no pod was preempted in this step.")] = False
    survives: Annotated[
        dict[str, int],
        Meta(
            description="node, zone, region or a label, and how many of them may be lost at once: "
            "all pods of controllers find a node again, whichever are lost."
        ),
    ] = {}


class StepFields(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """What a step has beside its edits."""

    name: Annotated[str, Meta(description="What the step is about, for the report.")] = ""
    apply: Annotated[Texts, Meta(description="Manifests to apply: files and directories beside the scenario.")] = ()
    expect: ExpectDocument = ExpectDocument()


if TYPE_CHECKING:
    StepDocument: TypeAlias = StepFields
else:
    # One more field for each declared edit.
    StepDocument = defstruct(
        "StepDocument",
        [(spec.field, Annotated[Texts, _like(spec.flag)], ()) for spec in edit_specs()],
        bases=(StepFields,),
        namespace={
            "__doc__": "Manifests first, then edits in the order in which a command line's are made; then pods are "
            "placed."
        },
        module=__name__,
        rename="camel",
        frozen=True,
        forbid_unknown_fields=True,
    )


class ScenarioMetadata(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    name: str = ""


class ScenarioDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Steps, run one after the other: what one has placed is there in the next."""

    api_version: str = ""
    kind: str = ""
    metadata: ScenarioMetadata = ScenarioMetadata()
    steps: tuple[StepDocument, ...] = ()


_BOUNDS = {"maxSkew": {"minimum": 0}}


def schema() -> dict[str, Any]:
    document, definitions = components_of(ScenarioDocument, lambda name, field: {**field, **_BOUNDS.get(name, {})})
    document["properties"] = {
        **document["properties"],
        "apiVersion": {"const": API_VERSION},
        "kind": {"const": KIND},
        "steps": {**document["properties"]["steps"], "minItems": 1},
    }
    document["required"] = ["apiVersion", "kind", "steps"]
    definitions["SpreadDocument"]["required"] = ["of"]
    survives = definitions["ExpectDocument"]["properties"]["survives"]
    survives["additionalProperties"] = {"type": "integer", "minimum": 1}
    return json_schema(document, definitions, "A scenario of ksched")
