"""From the words of a sweep to its dimensions: `node:2`, a range of minors, `cpu=4,memory=16Gi=0..20`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.selectors import is_label_key
from ksched_cli.plan.sweep.model import EditRange, Failing
from ksched_cli.releases.minors import NEWEST, RELEASES, minor_in, release
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import Edit
from ksched_cli.whatif.edits.lib.registry import specs_by_flag
from ksched_cli.whatif.ranges import COUNTED_EDITS, EDIT_RANGE

MINORS = tuple(RELEASES)
_LONGEST_RANGE = 100_000
_MOST_DRAWS = 10_000_000
_DOMAINS = ("node", "zone", "region")
_FAIL_HINT = "write node, zone, region or label=KEY, with :2 for pairs or :NAME for one of them"


def read_failing(text: str) -> Failing:
    what, colon, number = text.partition(":")
    if what.startswith("label="):
        what = what.removeprefix("label=")
        if not is_label_key(what):
            raise EditMistake(f"{what!r} cannot be a label's key", _FAIL_HINT)
    elif what not in _DOMAINS:
        raise EditMistake(f"{what!r} is nothing that fails", _FAIL_HINT)
    if not colon:
        return Failing(what)
    if not number.isdecimal() and number:
        return Failing(what, name=number)
    if not number or int(number) < 1:
        raise EditMistake(f"{number!r} is not how many fail together", _FAIL_HINT)
    return Failing(what, int(number))


def check_draws(count: int) -> int:
    """The number of orders or tie-breaks."""
    if not 1 <= count <= _MOST_DRAWS:
        raise EditMistake(f"{count} is not between 1 and {_MOST_DRAWS:,}")
    return count


def read_versions(texts: str | tuple[str, ...]) -> tuple[str, ...]:
    """Minors, each once, in the given order."""
    words = texts.split(",") if isinstance(texts, str) else texts
    return tuple(dict.fromkeys(each for word in words for each in _versions(word.strip())))


def _versions(word: str) -> Iterator[str]:
    first, dots, last = word.partition("..")
    if not dots:
        yield release(word).version
        return
    low, high = minor_in(first), minor_in(last)
    if low is None or high is None:
        raise EditMistake(f"{word!r} is not a range of minors", f"write {MINORS[-2]}..{MINORS[-1]}")
    if low > high:
        raise EditMistake(f"the range {word} is empty", f"write {last}..{first}")
    found = [each.version for each in RELEASES.values() if low <= each.minor <= high]
    if not found or high > NEWEST.minor:
        raise EditMistake(f"minors of {word} are not modelled", f"there is {', '.join(RELEASES)}")
    yield from found


def read_edit_range(flag: str, text: str) -> EditRange:
    """`TEMPLATE=0..20`: one edit for each number."""
    found = EDIT_RANGE.fullmatch(text)
    if found is None:
        raise EditMistake(f"{text!r} has no range of numbers", f"write {text.rpartition('=')[0] or text}=1..10")
    subject, first, last = found[1], int(found[2]), int(found[3])
    if first > last:
        raise EditMistake(f"the range {first}..{last} is empty", f"write {last}..{first}")
    if last - first >= _LONGEST_RANGE:
        raise EditMistake(f"the range {first}..{last} has more than {_LONGEST_RANGE:,} numbers")
    # The mistakes of the edit itself are those of its largest number.
    largest = specs_by_flag()[flag].parse(f"{subject}={last}")
    return EditRange(flag, subject, first, tuple(_with_number(flag, largest, each) for each in range(first, last + 1)))


def _with_number(flag: str, edit: Edit, number: int) -> Edit | None:
    """No edit for no new nodes."""
    if flag != "scale" and number == 0:
        return None
    change: dict[str, Any] = {COUNTED_EDITS[flag]: number}
    if flag == "add-node":
        change["text"] = ""
    return replace(edit, **change)  # type: ignore[type-var]  # every edit is a Struct
