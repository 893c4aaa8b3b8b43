"""An undo log: changes noted since a mark, so that a world can be rolled back in time proportional to what has changed.
It has no counterpart in Kubernetes. A class must take part: it is one of the logged ones below, or notes its
changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSet
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_keys, dict_values

K = TypeVar("K")
E = TypeVar("E")
V = TypeVar("V")

_ABSENT: Any = object()
# A dict up to this size is copied once per mark. Of a larger dict each change is noted.
_SMALL = 16


class UndoLog:
    """How to undo each change since the first mark, in order. Without a mark nothing is noted.

    Objects of one world share one log. What they keep in the containers below, and in attributes of `Logged`, is noted
    without further ado; for everything else they call `note` or `keep` before they change it.
    """

    def __init__(self) -> None:
        self._records: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        self._marks: list[int] = []
        self._kept: set[int] = set()
        # Attributes of `Logged` objects noted since the last mark. The objects are kept, so that ids are unique.
        self.noted_attributes: dict[tuple[int, str], Logged] = {}
        self._after: list[Callable[[], None]] = []
        self._at_mark: list[Callable[[], None]] = []
        self.recording = False
        # Another number after each mark and each roll back: what was kept under an earlier one does not count.
        self.epoch = 0

    def mark(self) -> int:
        """Begin to note changes. Marks nest: `roll_back` ends the mark and all later ones."""
        _NotingMethods.put_back()
        self._marks.append(len(self._records))
        self._begin_epoch()
        for prepare in self._at_mark:
            prepare()
        return len(self._marks)

    def roll_back(self, mark: int) -> None:
        """Undo everything since the mark, the latest change first."""
        start = self._marks[mark - 1]
        del self._marks[mark - 1 :]
        self.recording = False
        while len(self._records) > start:
            undo, arguments = self._records.pop()
            undo(*arguments)
        self._begin_epoch()
        for refresh in self._after:
            refresh()

    def commit(self, mark: int) -> None:
        """Let the changes since the mark stand. Without an earlier mark how to undo them is forgotten."""
        del self._marks[mark - 1 :]
        if not self._marks:
            self._records.clear()
        self._begin_epoch()

    def forget(self) -> None:
        """Let all changes stand, and note none until the next mark."""
        if self._marks:
            self.commit(1)

    def forget_in_process(self) -> None:
        """`forget`, where no other log of this process has a mark: until the next mark, logged objects, dicts and sets
        change as fast as plain ones."""
        self.forget()
        _NotingMethods.take_off()

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Everything that happens inside the block is undone at its end."""
        mark = self.mark()
        try:
            yield
        finally:
            self.roll_back(mark)

    def after_roll_back(self, refresh: Callable[[], None]) -> None:
        """Call this after each roll back: for version numbers that must never return to an earlier value."""
        self._after.append(refresh)

    def at_mark(self, prepare: Callable[[], None]) -> None:
        """Call this after each mark. What it notes is undone last."""
        self._at_mark.append(prepare)

    def _begin_epoch(self) -> None:
        self.epoch += 1
        self._kept.clear()
        self.noted_attributes.clear()
        self.recording = bool(self._marks)

    def note(self, undo: Callable[..., object], *arguments: Any) -> None:
        """`undo(*arguments)` restores what the caller is about to change, or has changed."""
        if self.recording:
            self._records.append((undo, arguments))

    def save_copy(self, items: list[Any] | deque[Any]) -> None:
        """Save a copy of a list or deque that the caller is about to change in any way, for the roll back."""
        if self.recording and id(items) not in self._kept:
            self._kept.add(id(items))
            self._records.append((_refill, (items, tuple(items))))


def _refill(items: list[Any] | deque[Any], kept: tuple[Any, ...]) -> None:
    items.clear()
    items.extend(kept)


class Logged:
    """An object whose attributes a roll back restores. Attributes that are set before `undo` are not noted. Between two
    marks an attribute is noted once: counters and clocks change all the time.

    `__dict__` is not read: Python 3.11 finds the attributes of an object three times as slowly once it has been read.
    """

    undo: UndoLog

    def __setattr__(self, name: str, value: Any) -> None:
        undo = getattr(self, "undo", None)
        if undo is not None and undo.recording:
            noted = undo.noted_attributes
            if (key := (id(self), name)) not in noted:
                noted[key] = self
                undo.note(_restore_attribute, self, name, getattr(self, name, _ABSENT))
        object.__setattr__(self, name, value)


def _restore_attribute(item: Logged, name: str, old: Any) -> None:
    """An attribute that had the value of the class, or none, is deleted."""
    object.__setattr__(item, name, old)
    if old is getattr(type(item), name, _ABSENT):
        object.__delattr__(item, name)


class LoggedDict(dict[K, V]):
    """A dict that a roll back restores, the order of its keys included.

    When a key that is not the last is removed, the dict is copied as a whole, once per mark: its place among the
    others is known in no other way.
    """

    __slots__ = ("_kept", "_undo")

    def __init__(self, undo: UndoLog, items: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        super().__init__(items)
        self._undo = undo
        self._kept = -1

    def _is_noted(self) -> bool:
        """Whether a roll back restores the whole dict already, or none is to come."""
        undo = self._undo
        if not undo.recording or self._kept == undo.epoch:
            return True
        if len(self) > _SMALL:
            return False
        self._keep()
        return True

    def _keep(self) -> None:
        undo = self._undo
        undo.note(_refill_dict, self, dict(self))
        self._kept = undo.epoch

    def _note_removal(self, key: K) -> None:
        if not self._is_noted() and key in self:
            if next(reversed(self)) == key:
                self._undo.note(dict.__setitem__, self, key, self[key])
            else:
                self._keep()

    def __setitem__(self, key: K, value: V) -> None:
        if self._undo.recording and not self._is_noted():
            if key in self:
                self._undo.note(dict.__setitem__, self, key, self[key])
            else:
                self._undo.note(dict.pop, self, key, None)
        dict.__setitem__(self, key, value)

    def __delitem__(self, key: K) -> None:
        if self._undo.recording:
            self._note_removal(key)
        dict.__delitem__(self, key)

    def pop(self, key: K, default: Any = _ABSENT) -> Any:
        if self._undo.recording:
            self._note_removal(key)
        return dict.pop(self, key) if default is _ABSENT else dict.pop(self, key, default)

    def popitem(self) -> tuple[K, V]:
        if not self._is_noted():
            self._keep()
        return dict.popitem(self)

    def clear(self) -> None:
        if not self._is_noted():
            self._keep()
        dict.clear(self)

    # These set items one by one. `dict` would set them without a note.
    setdefault = MutableMapping.setdefault
    update = MutableMapping.update

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        self.update(other)
        return self


class LoggedTable(LoggedDict[K, V]):
    """A LoggedDict of many keys, of which a trial removes few: it is never copied as a whole. A roll back adds a
    removed key at the end, and the next loop over the dict moves it to its place."""

    __slots__ = ("_in_order", "_next_turn", "_turns")

    def __init__(self, undo: UndoLog, items: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        super().__init__(undo, items)
        # The place of each key among the others, numbered when the first key is removed.
        self._turns: dict[K, int] | None = None
        self._next_turn = 0
        self._in_order = True

    def __setitem__(self, key: K, value: V) -> None:
        undo = self._undo
        if undo.recording or self._turns is not None:
            if key in self:
                undo.note(dict.__setitem__, self, key, self[key])
            else:
                undo.note(self._take_back, key)
                if self._turns is not None:
                    self._turns[key] = self._next_turn
                    self._next_turn += 1
        dict.__setitem__(self, key, value)

    def __delitem__(self, key: K) -> None:
        self._note_removal(key)
        dict.__delitem__(self, key)

    def pop(self, key: K, default: Any = _ABSENT) -> Any:
        self._note_removal(key)
        return dict.pop(self, key) if default is _ABSENT else dict.pop(self, key, default)

    def _note_removal(self, key: K) -> None:
        if key not in self:
            return
        if self._turns is None:
            if not self._undo.recording:
                return
            self._turns = {each: turn for turn, each in enumerate(dict.keys(self))}
            self._next_turn = len(self)
        self._undo.note(self._put_back, key, self[key], self._turns.pop(key))

    def _take_back(self, key: K) -> None:
        dict.pop(self, key)
        if self._turns is not None:
            del self._turns[key]

    def _put_back(self, key: K, value: V, turn: int) -> None:
        assert self._turns is not None
        dict.__setitem__(self, key, value)
        self._turns[key] = turn
        self._in_order = False

    def _sort(self) -> None:
        if not self._in_order:
            assert self._turns is not None
            items = {key: self[key] for key in sorted(dict.keys(self), key=self._turns.__getitem__)}
            dict.clear(self)
            dict.update(self, items)
            self._in_order = True

    def __iter__(self) -> Iterator[K]:
        self._sort()
        return dict.__iter__(self)

    def __reversed__(self) -> Iterator[K]:
        self._sort()
        return dict.__reversed__(self)

    def keys(self) -> dict_keys[K, V]:
        self._sort()
        return dict.keys(self)

    def values(self) -> dict_values[K, V]:
        self._sort()
        return dict.values(self)

    def items(self) -> dict_items[K, V]:
        self._sort()
        return dict.items(self)

    def popitem(self) -> tuple[K, V]:
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self) -> None:
        for key in list(self):
            del self[key]


def _refill_dict(target: dict[Any, Any], kept: dict[Any, Any]) -> None:
    dict.clear(target)
    dict.update(target, kept)


class LoggedIndex(LoggedDict[K, dict[E, V]]):
    """Ordered dicts by key, each made when its first entry comes. They change in `put`, `drop` and `entries_of`."""

    __slots__ = ()

    def fill(self, entries: Mapping[K, dict[E, V]]) -> None:
        """Put all entries into an index that has none. Most keys of a large index never change: a dict is logged from
        its first change after a mark on."""
        dict.update(self, entries)

    def entries_of(self, key: K) -> dict[E, V] | None:
        """The entries of the key, to be changed before the next mark."""
        entries = self.get(key)
        if entries is not None and self._undo.recording and not isinstance(entries, LoggedDict):
            entries = self[key] = LoggedDict(self._undo, entries)
        return entries

    def put(self, key: K, entry: E, value: V) -> None:
        entries = self.entries_of(key)
        if entries is None:
            entries = self[key] = LoggedDict(self._undo)
        entries[entry] = value

    def drop(self, key: K, entry: E) -> None:
        """Nothing happens if the entry is not there."""
        entries = self.entries_of(key)
        if entries is not None:
            entries.pop(entry, None)


class LoggedSet(set[K]):
    """A set that a roll back restores."""

    __slots__ = ("_undo",)

    def __init__(self, undo: UndoLog, items: Iterable[K] = ()) -> None:
        super().__init__(items)
        self._undo = undo

    def add(self, item: K) -> None:
        if self._undo.recording and item not in self:
            self._undo.note(set.discard, self, item)
        set.add(self, item)

    def discard(self, item: object) -> None:
        if self._undo.recording and item in self:
            self._undo.note(set.add, self, item)
        set.discard(self, item)

    # These add and discard items one by one. `set` would change them without a note.
    remove, pop, clear = MutableSet.remove, MutableSet.pop, MutableSet.clear
    __ior__, __iand__, __isub__ = MutableSet.__ior__, MutableSet.__iand__, MutableSet.__isub__
    __ixor__ = MutableSet.__ixor__

    def update(self, *others: Iterable[K]) -> None:
        self |= set[K]().union(*others)

    def difference_update(self, *others: Iterable[Any]) -> None:
        self -= set[Any]().union(*others)

    def intersection_update(self, *others: Iterable[Any]) -> None:
        self &= self.intersection(*others)

    def symmetric_difference_update(self, other: Iterable[K]) -> None:
        self ^= set(other)


class LoggedList(list[V]):
    """A list that is appended to, and that a roll back cuts back. To change it otherwise, call `UndoLog.keep` first."""

    __slots__ = ("_kept", "_undo")

    def __init__(self, undo: UndoLog, items: Iterable[V] = ()) -> None:
        super().__init__(items)
        self._undo = undo
        self._kept = -1

    def append(self, item: V) -> None:
        undo = self._undo
        if undo.recording and self._kept != undo.epoch:
            undo.note(_cut_back, self, len(self))
            self._kept = undo.epoch
        list.append(self, item)

    def extend(self, items: Iterable[V]) -> None:
        for item in items:
            self.append(item)


def _cut_back(items: list[Any], size: int) -> None:
    del items[size:]


class _NotingMethods:
    """The methods that note a change before they make it. Until the first mark of any log, the methods of the base
    classes make the changes, which are faster, as they are not written in Python."""

    _methods = tuple(
        (kind, name, vars(kind)[name])
        for kind, names in (
            (Logged, ("__setattr__",)),
            (LoggedDict, ("__setitem__", "__delitem__", "pop", "clear")),
            (LoggedSet, ("add", "discard")),
        )
        for name in names
    )
    _are_off = False

    @classmethod
    def take_off(cls) -> None:
        if not cls._are_off:
            cls._are_off = True
            for kind, name, _ in cls._methods:
                delattr(kind, name)

    @classmethod
    def put_back(cls) -> None:
        if cls._are_off:
            cls._are_off = False
            for kind, name, method in cls._methods:
                setattr(kind, name, method)


_NotingMethods.take_off()
