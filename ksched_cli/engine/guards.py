"""Plugins that are not in-tree are checked at every call: whatever they do wrong becomes the error of the pod whose
cycle it is, and names the plugin and, where it is known, the node.

The checks are in a subclass that is made of the plugin's class. In-tree plugins are tested instead, and pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any

import numpy as np
from msgspec.structs import replace

from ksched_cli.engine.faults import CycleError, PluginFault, error_text
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.interfaces import (
    FilterPlugin,
    Plugin,
    PostFilterResult,
    PreFilterPlugin,
    PreFilterResult,
    ScorePlugin,
)
from ksched_cli.framework.reasons import Reason
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Code, Status, as_reasons
from ksched_cli.framework.verdict import Verdict

# Of the arguments that a method was called with and of its answer: the answer to go on with, or a Complaint.
Check = Callable[[tuple[Any, ...], Any], Any]


class Complaint(Exception):
    """What is wrong with an answer."""


@cache
def guarded(plugin: type[Plugin]) -> type[Plugin]:
    """The class with every method that the engine calls under guard. What it does not define itself stays as it is:
    whether a plugin has a method of its own is an answer, too."""
    with_defaults = (Plugin, PreFilterPlugin, FilterPlugin, ScorePlugin)
    bases = {getattr(base, name, None) for name in _CHECKS for base in with_defaults}
    methods = {
        name: _guard(plugin, name, point, check)
        for name, (point, check) in _CHECKS.items()
        if (own := getattr(plugin, name, None)) is not None and own not in bases
    }
    return type(plugin.__name__, (plugin,), {**methods, "__module__": plugin.__module__, "__doc__": plugin.__doc__})


def _guard(plugin: type[Plugin], name: str, point: str, check: Check) -> Callable[..., Any]:
    method = getattr(plugin, name)

    @wraps(method)
    def call(self: Plugin, *arguments: Any) -> Any:
        try:
            return check(arguments, method(self, *arguments))
        except CycleError:
            raise
        except Complaint as complaint:
            raise PluginFault(plugin.name, point, str(complaint)) from None
        except (Exception, SystemExit) as problem:
            raise PluginFault(plugin.name, point, error_text(problem)) from problem

    return call


def _anything(arguments: tuple[Any, ...], answer: Any) -> Any:
    return answer


def _status(arguments: tuple[Any, ...], answer: Any) -> Status:
    if not isinstance(answer, Status):
        raise Complaint(f"returned {_shown(answer)}, not a Status")
    return _with_reasons(answer)


def _with_reasons(status: Status) -> Status:
    """A plugin may give its reasons as texts."""
    if all(isinstance(reason, Reason) for reason in status.reasons):
        return status
    return replace(status, reasons=as_reasons(status.reasons))


def _permission(arguments: tuple[Any, ...], answer: Any) -> tuple[Status, float]:
    match answer:
        case (Status() as status, int() | float() as seconds):
            return _with_reasons(status), float(seconds)
    raise Complaint(f"returned {_shown(answer)}, not a Status and a number of seconds")


def _pre_filter(arguments: tuple[Any, ...], answer: Any) -> PreFilterResult[Any] | Status:
    """Success without a state is what Go's plugins return most of the time."""
    if isinstance(answer, Status):
        return PreFilterResult(None) if answer.ok else _with_reasons(answer)
    if not isinstance(answer, PreFilterResult):
        raise Complaint(f"returned {_shown(answer)}, not a PreFilterResult or a Status")
    names = answer.node_names
    if not (names is None or (isinstance(names, frozenset) and all(isinstance(name, str) for name in names))):
        raise Complaint(f"node_names is {_shown(names)}, not a frozenset of names")
    return answer


def _pre_score(arguments: tuple[Any, ...], answer: Any) -> Any:
    return None if isinstance(answer, Status) and answer.ok else answer


def _post_filter(arguments: tuple[Any, ...], answer: Any) -> tuple[PostFilterResult | None, Status]:
    match answer:
        case (None | PostFilterResult() as result, Status() as status):
            return result, _with_reasons(status)
    raise Complaint(f"returned {_shown(answer)}, not a PostFilterResult or None and a Status")


def _verdict(arguments: tuple[Any, ...], answer: Any) -> Verdict:
    nodes: NodeRows = arguments[2]
    if not isinstance(answer, Verdict):
        raise Complaint(f"returned {_shown(answer)}, not a Verdict")
    size = len(nodes)
    for what, column in (("codes", answer.codes), ("reason_ids", answer.reason_ids)):
        if not (isinstance(column, np.ndarray) and column.dtype.kind in "iu"):
            raise Complaint(f"{what} is {_shown(column)}, not an array of whole numbers")
        if column.ndim == 1 and len(column) != size:
            raise Complaint(f"{len(column)} verdicts for {size} nodes")
        if column.shape != (size,):
            raise Complaint(f"{what} has the shape {column.shape} for {size} nodes")
    for index in np.nonzero((answer.reason_ids < 0) | (answer.reason_ids >= len(answer.reasons)))[0][:1]:
        raise Complaint(f"there is no reason {answer.reason_ids[index]} (node {nodes.names[index]})")
    # By a table: np.isin takes its time with few codes.
    is_known = (answer.codes >= 0) & (answer.codes < len(_IS_FILTER_CODE))
    is_known &= _IS_FILTER_CODE.take(answer.codes, mode="clip")
    for index in np.nonzero(~is_known)[0][:1]:
        raise Complaint(f"code {answer.codes[index]} is none that a filter gives (node {nodes.names[index]})")
    return Verdict(answer.codes, answer.reason_ids, [as_reasons(reasons) for reasons in answer.reasons])


_FILTER_CODES = (Code.SUCCESS, Code.ERROR, Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING)
_IS_FILTER_CODE = np.array([code in _FILTER_CODES for code in Code])


def _scores(arguments: tuple[Any, ...], answer: Any) -> Any:
    size = len(arguments[2])
    if isinstance(answer, Status):
        return _with_reasons(answer)
    if not isinstance(answer, np.ndarray):
        raise Complaint(f"returned {_shown(answer)}, not an array of scores")
    if answer.dtype != np.int64:
        raise Complaint(f"scores are of type {answer.dtype}, not int64")
    if answer.shape != (size,):
        raise Complaint(f"scores of shape {answer.shape} for {size} nodes")
    return answer


def _depends(arguments: tuple[Any, ...], answer: Any) -> Any:
    if not (answer is None or isinstance(answer, Depends)):
        raise Complaint(f"returned {_shown(answer)}, not a Depends or None")
    hash(answer)
    return answer


def _key(arguments: tuple[Any, ...], answer: Any) -> tuple[Any, ...]:
    if not isinstance(answer, tuple):
        raise Complaint(f"returned {_shown(answer)}, not a tuple")
    return answer


def _shown(answer: Any) -> str:
    if isinstance(answer, np.ndarray):
        return f"an array of {answer.dtype}"
    text = repr(answer)
    return text if len(text) <= 60 else f"{text[:60]}..."


# Methods by name: the extension point that they belong to, and what their answer must be.
_CHECKS: Mapping[str, tuple[str, Check]] = {
    "pre_enqueue": ("preEnqueue", _status),
    "sort_key": ("queueSort", _key),
    "pre_filter": ("preFilter", _pre_filter),
    "clone_state": ("preFilter", _anything),
    "add_pod": ("preFilter", _anything),
    "remove_pod": ("preFilter", _anything),
    "concerns": ("preFilter", _anything),
    "filter": ("filter", _verdict),
    "depends": ("depends", _depends),
    "explain": ("explain", _anything),
    "post_filter": ("postFilter", _post_filter),
    "pre_score": ("preScore", _pre_score),
    "score": ("score", _scores),
    "normalize": ("normalizeScore", _scores),
    "reserve": ("reserve", _status),
    "unreserve": ("unreserve", _anything),
    "permit": ("permit", _permission),
    "pre_bind": ("preBind", _status),
    "bind": ("bind", _status),
    "post_bind": ("postBind", _anything),
    "generate_placements": ("placementGenerate", _anything),
    "score_placement": ("placementScore", _anything),
    "normalize_placements": ("placementScore", _anything),
}
