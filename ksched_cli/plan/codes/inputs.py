"""KS0xx: files and objects that are not checked, and what ksched assumes about them."""

from __future__ import annotations

from ksched_cli.framework.reasons import ReasonCode
from ksched_cli.releases import NEWEST_VERSION
from ksched_cli.sources.input_codes import (
    DUPLICATE,
    IMMUTABLE,
    INVALID,
    NOT_RENDERED,
    NOT_RUN,
    NOTHING_CHECKED,
    REMOVED_VERSION,
    SKIPPED,
    STALE_BASELINE,
    UNKNOWN_FIELD,
    UNKNOWN_KIND,
    UNKNOWN_NAMESPACE,
    UNKNOWN_WORKLOAD,
    UNREADABLE,
)

CODES = [
    ReasonCode(
        UNREADABLE,
        "unreadable-file",
        "a file cannot be read",
        "The file does not exist, or its content is neither JSON nor YAML. ksched checks the other files and exits "
        "with code 2.",
        ("correct the file", "leave it out with --exclude"),
    ),
    ReasonCode(
        INVALID,
        "invalid-object",
        "an object is not valid",
        "A field has the wrong type, or a value that the API server refuses. ksched does not check the object, checks "
        "the others and exits with code 2.",
        ("correct the field",),
    ),
    ReasonCode(
        DUPLICATE,
        "duplicate-object",
        "two manifests have the same object",
        "Two objects of one kind, namespace and name cannot exist in one cluster. Variants of an application, such as "
        "overlays beside each other, are checked one at a time.",
        ("check each variant by itself", "leave one of the files out with --exclude"),
    ),
    ReasonCode(
        UNKNOWN_KIND,
        "unknown-kind",
        "the API server knows no such kind",
        "Kubernetes has no kind of this name in this API group and version. ksched does not check the object and "
        "exits with code 2.",
        ("correct kind or apiVersion",),
    ),
    ReasonCode(
        REMOVED_VERSION,
        "removed-version",
        "this version of the kind is no longer served",
        "No minor that ksched models by default accepts this apiVersion. ksched does not check the object and exits "
        "with code 2.",
        ("write the apiVersion that the message names", "kubectl convert -f FILE"),
    ),
    ReasonCode(
        UNKNOWN_WORKLOAD,
        "unknown-workload",
        "the pods of a custom resource are not placed",
        "The kind is of a custom resource that looks like a workload. ksched does not place its pods.",
        ("--pod-template KIND.GROUP=PATH[,replicas=PATH]", "check the manifests that its operator makes"),
        level="warning",
    ),
    ReasonCode(
        SKIPPED,
        "skipped-file",
        "files are not read",
        "A folder holds files that are not Kubernetes manifests, or manifests in folders below that only -R reads.",
        ("nothing, if that is meant", "-R reads the folders below", "--exclude leaves files out"),
        level="note",
    ),
    ReasonCode(
        NOT_RENDERED,
        "not-rendered",
        "another tool has to make manifests of it first",
        "The file is input of Helm, Kustomize or Jsonnet. The manifests that such a tool makes are what ksched checks.",
        ("run the command that the message names", "ksched check -k DIRECTORY", "ksched check --helm CHART"),
    ),
    ReasonCode(
        UNKNOWN_NAMESPACE,
        "unknown-namespace",
        "the input has no such namespace",
        "Neither the cluster's input nor the manifests have the namespace. ksched assumes that it exists and has no "
        "quotas or limits.",
        (
            "add the Namespace to the manifests",
            "--create-namespace, if the deployment creates it",
            "--assume-namespace NAME, if it exists",
        ),
        level="warning",
    ),
    ReasonCode(
        NOTHING_CHECKED,
        "nothing-checked",
        "nothing was checked",
        "No pod or workload was left to place. A check that looked at nothing never succeeds.",
        ("correct the file names, -n or -l", "--allow-empty, if an empty input is meant"),
    ),
    ReasonCode(
        NOT_RUN,
        "not-run",
        "the check could not run",
        "The command line is wrong, or ksched could not read the cluster or its configuration. See the message.",
        ("correct what the message names",),
    ),
    ReasonCode(
        UNKNOWN_FIELD,
        "unknown-field",
        "the kind has no such field",
        f"Kubernetes {NEWEST_VERSION} has no field of this name at this place. The API server drops it, so that it has "
        "no effect: it is misspelt, or belongs elsewhere in the manifest.",
        ("correct the name", "move the field", "--strict makes it an error, --no-strict ignores it"),
        level="warning",
    ),
    ReasonCode(
        IMMUTABLE,
        "immutable-field",
        "a field of a live object cannot be changed",
        "The API server takes the field at creation only. ksched does not apply the object, checks the others and "
        "exits with code 2.",
        ("leave the field as it is in the cluster", "delete the live object and create it again"),
    ),
    ReasonCode(
        STALE_BASELINE,
        "stale-baseline",
        "the baseline accepts findings that are gone",
        "No finding of this check matches the entry of the baseline file. The finding is mended, or its object has "
        "another name or is not among the manifests.",
        ("write the baseline again with --write-baseline",),
        level="note",
    ),
]
