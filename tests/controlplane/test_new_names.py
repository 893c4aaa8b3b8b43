"""Generated names are the first free ones, whatever was tried before."""

from __future__ import annotations

from itertools import count
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Pod
from ksched_cli.controlplane.store import Store
from ksched_cli.controlplane.successors import Successors
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.templates import generated, uid_of
from tests.builders import make_pod

OWNER = ("ReplicaSet", "default", "web")
steps = st.lists(
    st.tuples(st.sampled_from(["create", "create", "delete", "fork", "back"]), st.integers(0, 2)), max_size=30
)


def first_free(store: Store, number: int) -> str:
    names = (generated("web-", "default", number, attempt) for attempt in count())
    return next(name for name in names if store.get(Pod, name, "default") is None)


@given(steps)
@settings(deadline=None)
def test_a_new_name_is_the_first_free_one(history: list[tuple[str, int]]) -> None:
    store = Store(Loaded())
    successors = Successors(store)
    marks: list[int] = []
    for kind, number in history:
        pods = store.of(Pod)
        if kind == "create":
            name = successors.new_name("web-", "default", OWNER, number)
            assert name == first_free(store, number)
            pod = make_pod(name).obj()
            store.put(pod)
            successors.observe(None, pod)
        elif kind == "delete" and pods:
            pod = pods[number % len(pods)]
            store.remove(pod)
            successors.observe(pod, None)
        elif kind == "fork":
            marks.append(store.undo.mark())
        elif kind == "back" and marks:
            store.undo.roll_back(marks.pop())


def test_a_uid_has_the_form_of_a_uuid() -> None:
    made = {uid_of(kind, "default", name) for kind in ("Pod", "Node") for name in ("a", "b")}
    assert len(made) == 4
    assert {(str(UUID(uid)), UUID(uid).version) for uid in made} == {(uid, 5) for uid in made}
