"""Finds the files of given paths, and reads them."""

from __future__ import annotations

import difflib
import io
import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.archives import SUFFIXES, Content, is_manifest, is_packed, layout_of, unpack
from ksched_cli.sources.decoding import is_etcd_snapshot
from ksched_cli.sources.read_options import DUMPS, ReadOptions

STDIN = "-"
# Dumps of the largest clusters are well below this.
MAX_BYTES = 4 * 1024**3
_SNIFF = 64 * 1024
# The most names in the folders below that are checked to count the manifests that are not read.
_MOST_NAMES_BELOW = 10_000
_NO_FILE = "not a file or directory: pipes, sockets and devices are not read"


class Files(Struct, frozen=True):
    """The files of a path. `gathered`: a collection in which not every file holds Kubernetes objects. `below`: how many
    manifests only a recursive read takes; `more_below`: there may be more. `left_out`: files that are not part of the
    layout."""

    paths: tuple[Path, ...]
    gathered: bool = False
    directory: bool = False
    below: int = 0
    more_below: bool = False
    left_out: tuple[str, ...] = ()


def expand_path(given: str, options: ReadOptions = DUMPS) -> Files:
    """The manifests of a directory without hidden ones, sorted by name; or the file itself."""
    path = Path(given)
    try:
        mode = path.stat().st_mode
    except OSError as problem:
        raise InputError(Problem(_problem_text(problem), given, hint=_nearest(path))) from None
    if stat.S_ISDIR(mode):
        return _expand_directory(path, given, options)
    if stat.S_ISREG(mode):
        return Files((path,))
    raise InputError(Problem(_NO_FILE, given))


def _expand_directory(path: Path, given: str, options: ReadOptions) -> Files:
    """A link is followed wherever it leads, as kubectl does. One that leads nowhere is a finding when it is read."""
    every = sorted(_manifests(path, options))
    wanted = tuple(each for each in every if not _is_excluded(each, path, options.exclude))
    below, more = (0, False) if options.recursive else _count_below(path, options.exclude)
    if not wanted:
        raise InputError(Problem("no manifests in this directory", given, hint=_no_manifests(below, more)))
    if not options.layouts:
        return Files(wanted, False, True, below, more)
    layout = layout_of([each.as_posix() for each in wanted], f"{path.as_posix()}/")
    return Files(tuple(map(Path, layout.names)), layout.gathered, True, below, more, layout.left_out)


def _no_manifests(below: int, more: bool) -> str:
    if below:
        at_least = "at least " if more else ""
        return f"the folders below have {at_least}{below} manifest{'' if below == 1 else 's'}: -R reads them"
    return f"there is no file ending in {', '.join(SUFFIXES)}"


def _manifests(directory: Path, options: ReadOptions) -> Iterator[Path]:
    for folder, folders, names in os.walk(directory):
        _go_on_into(folders)
        for name in filter(is_manifest, names):
            yield Path(folder, name)
        if not options.recursive:
            return


def _count_below(directory: Path, globs: Sequence[str]) -> tuple[int, bool]:
    """The number of manifests in the folders below, and whether there may be more: walks of large trees stop early."""
    found, seen = 0, 0
    for folder, folders, names in os.walk(directory):
        _go_on_into(folders)
        if seen > _MOST_NAMES_BELOW:
            return found, True
        if Path(folder) == directory:
            continue
        seen += len(folders) + len(names)
        below = (Path(folder, name) for name in filter(is_manifest, names))
        found += sum(not _is_excluded(path, directory, globs) for path in below)
    return found, False


def _go_on_into(folders: list[str]) -> None:
    """Sort the folders of a walk and remove hidden ones."""
    folders[:] = sorted(name for name in folders if not name.startswith("."))


def _is_excluded(path: Path, directory: Path, globs: Sequence[str]) -> bool:
    """Whether a glob matches the file, its name, or a folder between the given directory and the file."""
    if not globs:
        return False
    inner = path.relative_to(directory)
    names = [path.as_posix(), path.name]
    for each in (inner, *inner.parents[:-1]):
        names += [each.as_posix(), each.name]
    return any(fnmatchcase(name, glob.rstrip("/")) for name in names for glob in globs)


def read(path: Path, *, gathered: bool = False, options: ReadOptions = DUMPS) -> Iterator[Content]:
    """The content of the file, or of the files in it if it is compressed or an archive."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InputError(Problem(_NO_FILE, path.as_posix()))
        size = found.st_size
        if size > MAX_BYTES:
            raise InputError(Problem(f"larger than {MAX_BYTES // 1024**3} GiB", path.as_posix()))
        with path.open("rb") as file:
            for content in _contents(file, path.as_posix(), size, options):
                yield replace(content, gathered=True) if gathered else content
    except OSError as problem:
        raise InputError(Problem(_problem_text(problem), path.as_posix())) from None


def read_stdin(stdin: BinaryIO, options: ReadOptions = DUMPS, name: str = "stdin") -> Iterator[Content]:
    """The content of stdin. It is read completely, since archives are not read from beginning to end."""
    data = stdin.read()
    yield from _contents(io.BytesIO(data), name, len(data), options)


def _contents(file: BinaryIO, source: str, size: int, options: ReadOptions) -> Iterator[Content]:
    head = file.read(_SNIFF)
    if is_packed(head):
        file.seek(0)
        for content in unpack(file, head, source, size, options.layouts):
            _check(content.data[:_SNIFF], content.name)
            yield replace(content, data=_without_mark(content.data))
    else:
        _check(head, source)
        # At once: with the rest apart, a large file is in memory twice.
        file.seek(0)
        yield Content(source, _without_mark(file.read(size)))


def _check(head: bytes, source: str) -> None:
    """Raise InputError for content that does not begin as text, before the rest is read."""
    if is_etcd_snapshot(head):
        hint = "kwokctl writes objects with `kwokctl snapshot save --format k8s`"
        raise InputError(Problem("a snapshot of etcd's database, whose form is not read", source, hint=hint))
    problem = _not_text(head)
    if problem:
        raise InputError(Problem(problem, source, hint="expected JSON or YAML in UTF-8"))


def _without_mark(data: bytes) -> bytes:
    return data.removeprefix(b"\xef\xbb\xbf")


def _not_text(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "text in UTF-16"
    if head.startswith(b"\x1f\x8b"):
        return "compressed more than once"
    if b"\x00" in head:
        return "not text: there are NUL bytes in it"
    if head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        return "a web page"
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as problem:
        # The end of the part that was read may cut a character in two.
        if problem.start < len(head) - 4:
            return f"not text in UTF-8 (byte {problem.start})"
    return ""


def _problem_text(problem: OSError) -> str:
    return (problem.strerror or str(problem)).lower()


def _nearest(path: Path) -> str:
    """A hint with the most similar name in the same directory."""
    try:
        names = os.listdir(path.parent)
    except OSError:
        return f"there is no directory {path.parent}"
    close = difflib.get_close_matches(path.name, names, 1)
    return f"did you mean {path.parent / close[0]}?" if close else ""
