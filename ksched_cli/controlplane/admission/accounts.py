"""ServiceAccount: the account of a pod must exist, and may limit the secrets that the pod uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ksched_cli.api.validation.fields import items_at, object_at, text_at

_LIMITS_SECRETS = "kubernetes.io/enforce-mountable-secrets"
_TRUE = ("1", "t", "T", "true", "TRUE", "True")

Accounts = Mapping[tuple[str, str], Mapping[str, Any]]


def admit_account(accounts: Accounts, namespace: str, spec: Mapping[str, Any]) -> str:
    """Why the plugin refuses a pod, or an empty string, if the input has service accounts."""
    name = text_at(spec, "serviceAccountName") or text_at(spec, "serviceAccount") or "default"
    account = accounts.get((namespace, name))
    if account is None:
        return f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
    if object_at(account, "metadata", "annotations").get(_LIMITS_SECRETS) not in _TRUE:
        return ""
    return next(_foreign_secrets(account, name, spec), "")


def _foreign_secrets(account: Mapping[str, Any], name: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """limitSecretReferences."""
    known = {text_at(each, "name") for _, each in items_at(account, "secrets")}
    denied = f"is not allowed because service account {name} does not reference that secret"
    for _, volume in items_at(spec, "volumes"):
        secret = text_at(object_at(volume, "secret"), "secretName")
        if volume.get("secret") is not None and secret not in known:
            yield f'volume with secret.secretName="{secret}" {denied}'
    for field, label in (("initContainers", "init container"), ("containers", "container")):
        for _, container in items_at(spec, field):
            own = f"{label} {text_at(container, 'name')}"
            for _, variable in items_at(container, "env"):
                reference = object_at(variable, "valueFrom").get("secretKeyRef")
                if reference is not None and text_at(reference, "name") not in known:
                    using = f"with envVar {text_at(variable, 'name')} referencing"
                    yield f'{own} {using} secret.secretName="{text_at(reference, "name")}" {denied}'
            for _, source in items_at(container, "envFrom"):
                reference = source.get("secretRef")
                if reference is not None and text_at(reference, "name") not in known:
                    yield f'{own} with envFrom referencing secret.secretName="{text_at(reference, "name")}" {denied}'
    pulled = {text_at(each, "name") for _, each in items_at(account, "imagePullSecrets")}
    for index, reference in items_at(spec, "imagePullSecrets"):
        if text_at(reference, "name") not in pulled:
            text = denied.replace("that secret", "that imagePullSecret")
            yield f'imagePullSecrets[{index}].name="{text_at(reference, "name")}" {text}'
