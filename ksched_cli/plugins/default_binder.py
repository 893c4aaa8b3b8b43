"""DefaultBinder: takes the pod as bound (defaultbinder/default_binder.go). ksched never writes to a cluster, so that
binding always succeeds."""

from __future__ import annotations

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.interfaces import BindPlugin
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins.lib.spec import Spec


class DefaultBinder(BindPlugin[None]):
    name = "DefaultBinder"
    summary = "Binds the pod to its node; here that is simulated."

    def depends(self, info: PodInfo) -> Depends:
        return NOTHING

    def bind(self, state: None, info: PodInfo, row: int) -> Status:
        return SUCCESS


SPEC = Spec(plugins=(DefaultBinder,))
