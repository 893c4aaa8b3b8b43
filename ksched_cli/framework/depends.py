"""What the answers of a plugin depend on: all that the engine has to know to use an answer again.

An answer is what PreFilter, Filter, PreScore and Score return about a pod and a node. The engine keeps an answer for
all pods with an equal signature, and asks again about the nodes where something has changed that the plugin depends on.
Node objects and API objects (the catalog) are compared by the engine: a plugin may read them freely. A plugin without
`depends`, or with no signature for a pod, is right and slow: it is asked for every pod."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Literal

from msgspec import Struct

ANYWHERE: Final = "pods anywhere"
On = Literal["node", "usage", "pods on the node", "pods anywhere"]


class Depends(Struct, frozen=True):
    """`on` is the furthest thing that the answer about a node depends on:

    - "node": the node object, and nothing that pods do. Reserve, Permit, PreBind, Bind and PostBind then succeed and
      change nothing: the engine leaves them out for all but the first of the pods that sign alike.
    - "usage": what the pods on the node request together, and how many they are, too.
    - "pods on the node": those pods and what the plugin itself keeps about them, too. The engine asks again about a
      node when a pod has come there or left it, and after `Cluster.touch`.
    - "pods anywhere": pods on other nodes, too. The engine asks again when `version` returns another value: PreFilter
      and PreScore run again, and `changed_rows` returns the nodes whose verdict may differ. Without a `version`, any
      pod that comes or goes counts.

    Unless the plugin depends on pods anywhere, PreScore does not depend on which nodes are feasible, and what normalize
    makes of a raw score depends on that score, on the least and on the highest one. `signature` is all of the pod that
    the answers go by: equal signatures have equal answers. With None the plugin is asked for every pod.
    """

    on: On
    signature: Hashable | None = None
    version: Callable[[], Hashable] | None = None


NOTHING = Depends("node", ())
