"""Controllers and the pods they would make."""

from __future__ import annotations

from msgspec import Struct, field

from ksched_cli.api.core import PodSpec
from ksched_cli.api.meta import LabelSelector, ObjectMeta


class PodTemplateSpec(Struct, rename="camel"):
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: PodSpec = field(default_factory=PodSpec)


class ReplicationControllerSpec(Struct, rename="camel"):
    replicas: int | None = None
    selector: dict[str, str] = {}
    template: PodTemplateSpec | None = None


class ReplicationController(Struct, rename="camel"):
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ReplicationControllerSpec = field(default_factory=ReplicationControllerSpec)


class ReplicaSetSpec(Struct, rename="camel"):
    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None


class ReplicaSet(Struct, rename="camel"):
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ReplicaSetSpec = field(default_factory=ReplicaSetSpec)


class StatefulSet(Struct, rename="camel"):
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ReplicaSetSpec = field(default_factory=ReplicaSetSpec)


class Deployment(Struct, rename="camel"):
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ReplicaSetSpec = field(default_factory=ReplicaSetSpec)


class DaemonSetSpec(Struct, rename="camel"):
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None


class DaemonSet(Struct, rename="camel"):
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: DaemonSetSpec = field(default_factory=DaemonSetSpec)


class JobSpec(Struct, rename="camel"):
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    template: PodTemplateSpec | None = None


class Job(Struct, rename="camel"):
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: JobSpec = field(default_factory=JobSpec)
