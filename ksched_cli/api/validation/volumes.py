"""Rows for volumes of pods, persistent volumes, claims and storage classes (pkg/apis/core/validation and
pkg/apis/storage/validation). What a cloud or a CSI driver requires of its parameters is not checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ksched_cli.api.conversion import Path
from ksched_cli.api.label_names import domain_problems, key_problems
from ksched_cli.api.validation import checks
from ksched_cli.api.validation.checks import DOMAIN, KEY, LABEL, NEEDED, NOT_NEGATIVE, Needed, Rows
from ksched_cli.api.validation.errors import Errors, duplicate, forbidden, invalid, required, unsupported
from ksched_cli.api.validation.fields import each_at, items_at, object_at, text_at, texts_at, volume_sources_of

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_MODES = "*Block|Filesystem"
_OLD_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
_FILE_MODE = checks.in_range(0, 0o777, "must be a number between 0 and 0777 (octal), both inclusive")
_PARTITION = checks.in_range(0, 255, "must be between 0 and 255, inclusive")
_PROJECTIONS = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
_MANY_SOURCES = (forbidden, "may not specify more than 1 volume type")
_DRIVER = re.compile(r"[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?")
_WORDS = r"\w([\w-]*\w)?"
_IQN = re.compile(rf"iqn\.\d{{4}}-\d{{2}}\.{_WORDS}(\.{_WORDS})*:[^,;*&$|\s]+|eui\.\w{{16}}|naa\.\w{{32}}", re.ASCII)


def _projected(found: Mapping[str, Any], path: Path) -> Errors:
    """validateProjectionSources."""
    seen: set[str] = set()
    for here, source in each_at(found, path, "sources"):
        for kind in _PROJECTIONS:
            inner = object_at(source, kind)
            places: list[tuple[str, Path]] = [
                (text_at(each, "path"), ("items", at, "path")) for at, each in items_at(inner, "items")
            ]
            if kind in ("clusterTrustBundle", "podCertificate"):
                fields = ("path", "credentialBundlePath", "keyPath", "certificateChainPath")
                places += [(text_at(inner, field), (field,)) for field in fields]
            for text, steps in places:
                if text and text in seen:
                    yield invalid((*here, kind, *steps), text, "conflicting duplicate paths")
                seen.add(text)


def _trust_bundle(found: Mapping[str, Any], path: Path) -> Errors:
    bundle, signer = found.get("name"), found.get("signerName")
    if bundle is not None and signer is not None:
        yield invalid(path, bundle, "only one of name and signerName may be used")
    elif not bundle and not signer:
        yield required(path, "either name or signerName must be specified")
    elif bundle is not None and found.get("labelSelector") is not None:
        yield invalid((*path, "labelSelector"), "", "labelSelector must be unset if name is specified")


def _template_metadata(found: Mapping[str, Any], path: Path) -> Errors:
    """ValidateTemplateObjectMeta."""
    meta, here = object_at(found, "metadata"), (*path, "metadata")
    for field in meta:
        if field not in ("labels", "annotations") and meta[field] not in (None, "", [], {}):
            yield forbidden((*here, field), "cannot be set")


def claim_spec(spec: Mapping[str, Any], path: Path) -> Errors:
    """ValidatePersistentVolumeClaimSpec."""
    storage, here = object_at(spec, "resources", "requests").get("storage"), (*path, "resources", "requests", "storage")
    yield from [required(here)] if storage is None else checks.positive_amount(storage, here)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    # The API server drops what only the gate CrossNamespaceVolumeDataSource allows, and a source that neither is a
    # claim nor a snapshot if it stands alone.
    if text_at(reference, "namespace"):
        reference = None
    if reference is None and (text_at(source, "apiGroup"), text_at(source, "kind")) not in _OLD_SOURCES:
        source = None
    for field, found in (("dataSource", source), ("dataSourceRef", reference)):
        if found is None:
            continue
        for needed in ("name", "kind"):
            if not text_at(found, needed):
                yield required((*path, field, needed))
        if not text_at(found, "apiGroup") and text_at(found, "kind") != "PersistentVolumeClaim":
            text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
            yield invalid((*path, field), text_at(found, "kind"), text)
        yield from DOMAIN(text_at(found, "apiGroup"), (*path, field, "apiGroup"))
    given = [tuple(text_at(each, field) for field in ("apiGroup", "kind", "name")) for each in (source, reference)]
    if source is not None and reference is not None and given[0] != given[1]:
        yield invalid((*path, "dataSource"), "", "must match dataSourceRef")


def _access_modes(modes: list[str], path: Path) -> Errors:
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield unsupported(path, mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(set(modes) & set(_ACCESS_MODES)) > 1:
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _persistent_volume(spec: Mapping[str, Any], path: Path) -> Errors:
    """ValidatePersistentVolumeSpec."""
    capacity = object_at(spec, "capacity")
    if capacity and set(capacity) != {"storage"}:
        yield unsupported((*path, "capacity"), dict(capacity), ("storage",))
    for resource, quantity in capacity.items():
        yield from checks.positive_amount(quantity, (*path, "capacity", resource))
    is_root = text_at(object_at(spec, "hostPath"), "path").rstrip("/") == "" and spec.get("hostPath") is not None
    if is_root and text_at(spec, "persistentVolumeReclaimPolicy") == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden((*path, "persistentVolumeReclaimPolicy"), text)


def _storage_class(document: Mapping[str, Any], path: Path) -> Errors:
    """validateAllowedTopologies and validateParameters."""
    seen: list[dict[str, set[str]]] = []
    for index, term in items_at(document, "allowedTopologies"):
        here, found = ("allowedTopologies", index, "matchLabelExpressions"), dict[str, set[str]]()
        for at, requirement in items_at(term, "matchLabelExpressions"):
            key, values = text_at(requirement, "key"), texts_at(requirement, "values")
            if key in found:
                yield duplicate((*here, at, "key"), key)
            for number, value in enumerate(values):
                if value in values[:number]:
                    yield duplicate((*here, at, "values", number), value)
            found[key] = set(values)
        # Kubernetes compares the terms with empty ones too.
        if found in seen or not found:
            yield duplicate(here, "")
        seen.append(found)
    if "" in object_at(document, "parameters"):
        yield invalid(("parameters",), "", "field can not be empty.")


def driver_name(text: str) -> list[str]:
    """ValidateCSIDriverName."""
    found = ["must be no more than 63 characters"] if len(text) > 63 else []
    return found if _DRIVER.fullmatch(text) else [*found, *(domain_problems(text.lower()) or [])]


def _iscsi(found: Mapping[str, Any], path: Path) -> Errors:
    if (found.get("chapAuthDiscovery") or found.get("chapAuthSession")) and found.get("secretRef") is None:
        yield required((*path, "secretRef"))
    for field in ("iqn", "initiatorName"):
        text = text_at(found, field)
        if text and not _IQN.fullmatch(text):
            yield invalid((*path, field), text, "must be valid format")


def _fibre_channel(found: Mapping[str, Any], path: Path) -> Errors:
    names, ids = texts_at(found, "targetWWNs"), texts_at(found, "wwids")
    if bool(names) == bool(ids):
        return [required((*path, "targetWWNs"), "must specify either targetWWNs or wwids, but not both")]
    if names and found.get("lun") is None:
        return [required((*path, "lun"), "lun is required if targetWWNs is specified")]
    return ()


_SECRET = checks.needs("name")
_NAMED_SECRET = (
    checks.needs("name", "namespace"),
    checks.at("name", DOMAIN),
    checks.at("namespace", LABEL),
)
_ITEMS = {"defaultMode": _FILE_MODE}
_LOCAL_PATH = checks.name(checks.unreserved_path)
_SIGNER = checks.matches(
    r"|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+/[-a-z0-9.]+",
    "must be a fully qualified domain and path of the form 'example.com/signer-name'",
)

ROWS: Rows = {
    "Volume": {"": checks.choice(*volume_sources_of("Volume"), many=_MANY_SOURCES), "name!": LABEL},
    "EmptyDirVolumeSource": {
        # The API server forbids a negative size.
        "sizeLimit": lambda limit, path: [
            forbidden(path, "SizeLimit field must be a valid resource quantity")
            for _ in checks.amount_not_negative(limit, path)
        ]
    },
    "HostPathVolumeSource": {
        "path!": checks.name(checks.no_way_back),
        "type": "BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket",
    },
    "GitRepoVolumeSource": {"repository": NEEDED, "directory": checks.name(checks.inside_path)},
    "GCEPersistentDiskVolumeSource": {"pdName": NEEDED, "partition": _PARTITION},
    "AWSElasticBlockStoreVolumeSource": {"volumeID": NEEDED, "partition": _PARTITION},
    "SecretVolumeSource": {"secretName": NEEDED, **_ITEMS},
    "ConfigMapVolumeSource": {"name": NEEDED, **_ITEMS},
    "DownwardAPIVolumeSource": _ITEMS,
    "ProjectedVolumeSource": {"": _projected, **_ITEMS},
    "KeyToPath": {"key": NEEDED, "path!": _LOCAL_PATH, "mode": _FILE_MODE},
    "DownwardAPIVolumeFile": {
        "": checks.choice(
            *("fieldRef", "resourceFieldRef"),
            none=(required, "one of fieldRef and resourceFieldRef is required"),
            many=(invalid, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"),
        ),
        "path!": _LOCAL_PATH,
        "mode": _FILE_MODE,
    },
    "VolumeProjection": {
        "": checks.choice(*_PROJECTIONS, many=(forbidden, "may not specify more than 1 volume type per source"))
    },
    "SecretProjection ConfigMapProjection": {"name": NEEDED},
    "ServiceAccountTokenProjection": {
        "expirationSeconds": (
            checks.no_less_than(600, "may not specify a duration less than 10 minutes"),
            checks.in_range(-(2**63), 2**32, "may not specify a duration larger than 2^32 seconds"),
        ),
        "path!": _LOCAL_PATH,
    },
    "ClusterTrustBundleProjection": {"": _trust_bundle, "path!": _LOCAL_PATH, "signerName": _SIGNER},
    "PodCertificateProjection": {
        "": checks.choice(
            *("credentialBundlePath", "keyPath", "certificateChainPath"),
            none=(required, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"),
            empty="",
        ),
        "signerName!": _SIGNER,
        "keyType!": "RSA3072|RSA4096|ECDSAP256|ECDSAP384|ECDSAP521|ED25519",
        "maxExpirationSeconds": checks.in_range(3600, 7_862_400, "maxExpirationSeconds must be >= 3600 and <= 7862400"),
        "credentialBundlePath keyPath certificateChainPath": _LOCAL_PATH,
    },
    "PersistentVolumeClaimVolumeSource": {"claimName": NEEDED},
    "NFSVolumeSource": {"server": NEEDED, "path!": checks.matches("(?s)|/.*", "must be an absolute path")},
    "QuobyteVolumeSource": {"registry volume": NEEDED},
    "GlusterfsVolumeSource": {"endpoints path": NEEDED},
    "GlusterfsPersistentVolumeSource": {"endpoints path": NEEDED, "endpointsNamespace": checks.form(checks.dns_label)},
    "FlockerVolumeSource": {
        "": checks.choice(
            *("datasetName", "datasetUUID"),
            none=(required, "one of datasetName and datasetUUID is required"),
            many=(invalid, "resource", "datasetName and datasetUUID can not be specified simultaneously"),
            at="datasetName",
            empty="",
        )
    },
    "RBDVolumeSource RBDPersistentVolumeSource": {"monitors image": NEEDED},
    "CinderVolumeSource CinderPersistentVolumeSource": {"volumeID": NEEDED},
    "CephFSVolumeSource CephFSPersistentVolumeSource": {"monitors": NEEDED},
    "FlexVolumeSource FlexPersistentVolumeSource": {"driver": NEEDED},
    "AzureFileVolumeSource": {"secretName shareName": NEEDED},
    "AzureFilePersistentVolumeSource": {
        "secretName shareName": NEEDED,
        "secretNamespace": checks.matches("(?s).+", "must be a valid namespace name"),
    },
    "AzureDiskVolumeSource": {
        "diskName diskURI": NEEDED,
        "cachingMode": "*None|ReadOnly|ReadWrite",
        "kind": "*Dedicated|Managed|Shared",
    },
    "VsphereVirtualDiskVolumeSource": {"volumePath": NEEDED},
    "PhotonPersistentDiskVolumeSource": {"pdID": NEEDED},
    "PortworxVolumeSource": {"volumeID": NEEDED},
    "ScaleIOVolumeSource ScaleIOPersistentVolumeSource": {"gateway system volumeName": NEEDED},
    "StorageOSVolumeSource StorageOSPersistentVolumeSource": {"volumeName": NEEDED},
    "ISCSIVolumeSource ISCSIPersistentVolumeSource": {"": _iscsi, "targetPortal iqn": NEEDED, "lun": _PARTITION},
    "FCVolumeSource": {"": _fibre_channel, "lun": _PARTITION},
    "LocalVolumeSource": {"path!": checks.name(checks.no_way_back)},
    "CSIVolumeSource": {"driver!": checks.name(driver_name), "nodePublishSecretRef": _SECRET},
    "CSIPersistentVolumeSource": {
        "driver!": checks.name(driver_name),
        "volumeHandle": NEEDED,
        # No function of Kubernetes checks nodeStageSecretRef.
        "controllerPublishSecretRef nodePublishSecretRef": _NAMED_SECRET,
        "controllerExpandSecretRef nodeExpandSecretRef": _NAMED_SECRET,
    },
    "ImageVolumeSource": {"pullPolicy": "Always|IfNotPresent|Never"},
    "EphemeralVolumeSource": {"volumeClaimTemplate": NEEDED},
    "PersistentVolumeClaimTemplate ResourceClaimTemplateSpec": {"": _template_metadata},
    "PersistentVolumeClaimTemplate": {"spec": Needed("accessModes are required")},
    "PersistentVolumeClaimSpec": {
        "": claim_spec,
        "accessModes": (Needed("at least 1 access mode is required"), _access_modes),
        "storageClassName volumeAttributesClassName": DOMAIN,
        "volumeMode": _MODES,
    },
    "PersistentVolumeSpec": {
        "": (
            checks.choice(
                *volume_sources_of("PersistentVolumeSpec"),
                none=(required, "must specify a volume type"),
                many=_MANY_SOURCES,
            ),
            _persistent_volume,
            checks.requires("local", "nodeAffinity", "Local volume requires node affinity"),
            checks.requires(
                "volumeAttributesClassName", "csi", "has to be specified when using volumeAttributesClassName"
            ),
        ),
        "accessModes capacity": NEEDED,
        "accessModes": _access_modes,
        "persistentVolumeReclaimPolicy": "Delete|Recycle|Retain",
        "storageClassName": DOMAIN,
        "volumeAttributesClassName": checks.form(domain_problems),
        "volumeMode": _MODES,
    },
    "VolumeNodeAffinity": {"required": Needed("must specify required node constraints")},
    "StorageClass": {
        "": _storage_class,
        "provisioner!": checks.name(lambda text: key_problems(text.lower())),
        "reclaimPolicy": "Delete|Retain",
        "volumeBindingMode": "*Immediate|WaitForFirstConsumer",
    },
    "TopologySelectorLabelRequirement": {"values": NEEDED, "key!": KEY},
    "CSIDriverSpec": {
        "fsGroupPolicy": "*File|None|ReadWriteOnceWithFSType",
        "volumeLifecycleModes": checks.each_item(checks.one_of("*Persistent|Ephemeral")),
        "nodeAllocatableUpdatePeriodSeconds": checks.no_less_than(10, "must be greater than or equal to 10 seconds"),
        "tokenRequests": checks.unique("audience"),
    },
    "TokenRequest": {
        "expirationSeconds": (
            checks.no_less_than(600, "may not specify a duration less than 10 minutes"),
            checks.in_range(-(2**63), 2**32, "may not specify a duration larger than 2^32 seconds"),
        )
    },
    "CSINodeSpec": {"drivers": checks.unique("name")},
    "CSINodeDriver": {
        "name!": checks.name(driver_name),
        "nodeID!": checks.no_longer(256),
        "topologyKeys": (checks.each_item(KEY), checks.different),
    },
    "VolumeNodeResources": {"count": NOT_NEGATIVE},
    "VolumeAttachmentSpec": {"attacher!": checks.name(driver_name), "nodeName": NEEDED},
    "CSIStorageCapacity": {"storageClassName!": DOMAIN, "capacity": checks.amount_not_negative},
}
