"""The plugins that were removed after 1.18 or 1.22, and the predicates and priorities of 1.16 (the registries of
algorithmprovider and of framework/plugins). The registry imports this module only for such a minor."""

from __future__ import annotations

from ksched_cli.framework.interfaces import Plugin
from ksched_cli.legacy.earlier import (
    DefaultPodTopologySpread,
    NodeResourceLimits,
    SpreadOfEveryPod,
    SummedSpread,
    VolumeBindingOnEachNode,
)
from ksched_cli.legacy.predicates import (
    PREDICATES,
    CheckNodeCondition,
    CheckNodeDiskPressure,
    CheckNodeMemoryPressure,
    CheckNodePIDPressure,
    ConditionGuide,
    ConditionReasons,
)
from ksched_cli.legacy.priorities import PRIORITIES
from ksched_cli.legacy.removed import (
    NodeLabel,
    NodeLabelReasons,
    NodePreferAvoidPods,
    NodeResourcesLeastAllocated,
    NodeResourcesMostAllocated,
    RequestedToCapacityRatio,
    ServiceAffinity,
    ServiceAffinityReasons,
)
from ksched_cli.plugins.default_binder import DefaultBinder
from ksched_cli.plugins.default_preemption import DefaultPreemption
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.plugins.priority_sort import PrioritySort

REMOVED: tuple[type[Plugin], ...] = (
    NodePreferAvoidPods,
    NodeLabel,
    ServiceAffinity,
    NodeResourcesLeastAllocated,
    NodeResourcesMostAllocated,
    RequestedToCapacityRatio,
    NodeResourceLimits,
)
# What 1.17 and 1.18 had in the place of plugins of today.
EARLIER: tuple[type[Plugin], ...] = (DefaultPodTopologySpread, VolumeBindingOnEachNode, SummedSpread, SpreadOfEveryPod)

_CONDITIONS = (CheckNodeCondition, CheckNodeMemoryPressure, CheckNodePIDPressure, CheckNodeDiskPressure)
SPECS = (
    Spec(plugins=(NodePreferAvoidPods,)),
    Spec(plugins=(NodeLabel,), reasons=(NodeLabelReasons,)),
    Spec(plugins=(ServiceAffinity,), reasons=(ServiceAffinityReasons,)),
    Spec(plugins=(NodeResourcesLeastAllocated,)),
    Spec(plugins=(NodeResourcesMostAllocated,)),
    Spec(plugins=(RequestedToCapacityRatio,)),
    Spec(plugins=EARLIER),
    Spec(plugins=(NodeResourceLimits,)),
    Spec(plugins=_CONDITIONS, reasons=(ConditionReasons,), guide=ConditionGuide()),
)


# The plugins of 1.16. It sorts, preempts and binds as the plugins of later minors do.
BEFORE_PLUGINS: tuple[type[Plugin], ...] = (
    PrioritySort,
    *PREDICATES,
    *PRIORITIES,
    DefaultPreemption,
    DefaultBinder,
)
