"""Finds the files of given paths, reads and unpacks them in memory.

Directories and archives may have the layout of another tool (must-gather, `kubectl cluster-info dump`). Nothing is
written to disk. Most inputs are not packed: what unpacks them is imported when it is needed. An archive within an
archive is not read.
"""

from __future__ import annotations

import difflib
import io
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.errors import InputError, Problem, counted
from ksched_cli.sources.decoding import is_etcd_snapshot
from ksched_cli.sources.read_options import DUMPS, ReadOptions

if TYPE_CHECKING:
    from zipfile import ZipInfo


# The folders with objects that `oc adm must-gather` and `oc adm inspect` write, also below the folder of an image. The
# other files are logs, metrics and files of hosts.
_GATHERED = re.compile(r"([^/]+/)?(cluster-scoped-resources|namespaces)/")
_MARK = re.compile(r"([^/]+/)?cluster-scoped-resources/")


class Layout(Struct, frozen=True):
    """The names to read, and the names that are left out. `gathered`: the collection has other documents, too."""

    names: tuple[str, ...]
    gathered: bool = False
    left_out: tuple[str, ...] = ()


def layout_of(names: Sequence[str], root: str = "") -> Layout:
    """The layout of the files that may hold objects, by their paths with slashes. A layout begins at the root: right
    below the deepest folder that has all files."""
    begin = len(root) or _common_folder(names)
    if not any(_MARK.match(name, begin) for name in names):
        return Layout(tuple(names))
    kept = tuple(name for name in names if _GATHERED.match(name, begin))
    return Layout(kept, True, tuple(name for name in names if not _GATHERED.match(name, begin)))


def _common_folder(names: Sequence[str]) -> int:
    """The length of the folders that all names share. The folder of the mark does not count."""
    prefix = os.path.commonprefix(names)  # noqa: RUF071  # cut at a slash below
    mark = prefix.find("cluster-scoped-resources/")
    return prefix.rfind("/") + 1 if mark < 0 else mark


SUFFIXES = (".json", ".yaml", ".yml")
GZIP, ZIP = b"\x1f\x8b", (b"PK\x03\x04", b"PK\x05\x06")
_TAR_MAGIC, _TAR_OFFSET = b"ustar", 257
_CHUNK = 1024 * 1024

# A must-gather of a large cluster has tens of thousands of files.
MAX_MEMBERS = 200_000
# The most bytes that an archive may unpack to. The objects of the largest clusters are well below.
MAX_UNPACKED = 4 * 1024**3
# Objects of a cluster compress well, but not as well as a bomb of zeros.
MAX_RATIO, RATIO_FROM = 200, 64 * 1024**2


class Content(Struct, frozen=True):
    """The bytes of a file, or of a file in an archive, and its name for messages. `gathered`: the file is of a
    collection in which not every file holds Kubernetes objects. `left_out` are files of the archive outside of it."""

    name: str
    data: bytes
    gathered: bool = False
    left_out: tuple[str, ...] = ()


def is_manifest(name: str) -> bool:
    """Whether the name is that of a file of objects. Hidden files are not read."""
    return name.endswith(SUFFIXES) and not name.startswith(".")


class _Budget:
    """Limits how much is unpacked of one archive."""

    def __init__(self, source: str, packed: int) -> None:
        self._source = source
        self._packed = max(packed, 1)
        self._unpacked = 0

    def read(self, file: IO[bytes]) -> bytes:
        """The content of the file. InputError beyond the limits."""
        parts = []
        while chunk := file.read(_CHUNK):
            self._unpacked += len(chunk)
            if self._unpacked > MAX_UNPACKED:
                raise self._refusal(f"unpacks to more than {MAX_UNPACKED // 1024**3} GiB")
            if self._unpacked > RATIO_FROM and self._unpacked > MAX_RATIO * self._packed:
                raise self._refusal(f"unpacks to more than {MAX_RATIO} times its size")
            parts.append(chunk)
        return b"".join(parts)

    def _refusal(self, text: str) -> InputError:
        return InputError(Problem(text, self._source, hint="no dump of a cluster does; nothing of it was read"))


def is_packed(head: bytes) -> bool:
    return head.startswith((GZIP, *ZIP)) or _is_tar(head)


def _is_tar(head: bytes) -> bool:
    return head[_TAR_OFFSET : _TAR_OFFSET + len(_TAR_MAGIC)] == _TAR_MAGIC


def unpack(file: BinaryIO, head: bytes, source: str, size: int, layouts: bool) -> Iterator[Content]:
    """The content of a compressed file, or the manifests of an archive."""
    from gzip import BadGzipFile
    from lzma import LZMAError
    from tarfile import TarError
    from zipfile import BadZipFile
    from zlib import error as zlib_error

    budget = _Budget(source, size)
    try:
        if head.startswith(ZIP):
            yield from _unzip(file, source, budget, layouts)
        elif head.startswith(GZIP):
            yield from _gunzip(file, source, budget, layouts)
        else:
            yield from _untar(file, source, budget, layouts)
    except (EOFError, zlib_error, LZMAError, TarError, BadZipFile, BadGzipFile) as broken:
        raise InputError(Problem(_unpacking_problem(broken), source, hint="make or copy the file again")) from None
    except (NotImplementedError, RuntimeError) as problem:
        # A zip with a password, or with a compression that Python cannot read.
        raise InputError(Problem(f"cannot be unpacked: {problem}", source)) from None


def _unpacking_problem(broken: Exception) -> str:
    if isinstance(broken, EOFError) or "unexpected end" in str(broken):
        return "it ends in the middle: the file is truncated"
    return f"damaged: {broken}"


def _gunzip(file: BinaryIO, source: str, budget: _Budget, layouts: bool) -> Iterator[Content]:
    from gzip import GzipFile

    with GzipFile(fileobj=file, mode="rb") as stream:
        data = budget.read(stream)  # type: ignore[arg-type]  # typeshed has no IO[bytes] for it
    if _is_tar(data):
        yield from _untar(io.BytesIO(data), source, budget, layouts)
    else:
        yield Content(source, data)


def _untar(file: BinaryIO, source: str, budget: _Budget, layouts: bool) -> Iterator[Content]:
    import tarfile

    with tarfile.open(fileobj=file, mode="r:") as archive:
        members = ((member.name, member if member.isreg() else None) for member in archive)
        yield from _archived(members, archive.extractfile, source, budget, layouts)


def _unzip(file: BinaryIO, source: str, budget: _Budget, layouts: bool) -> Iterator[Content]:
    from zipfile import ZipFile

    try:
        opened_archive = ZipFile(file)
    except UnicodeDecodeError:
        text = "it says that its names are in UTF-8, and one is not"
        raise InputError(Problem(text, source, hint="nothing of it was read")) from None
    with opened_archive as archive:
        members = (
            (member.filename, None if member.is_dir() or _is_link(member) else member) for member in archive.infolist()
        )
        yield from _archived(members, archive.open, source, budget, layouts)


def _archived(
    members: Iterable[tuple[str, Any]], open_member: Callable[[Any], Any], source: str, budget: _Budget, layouts: bool
) -> Iterator[Content]:
    """The files of an archive that are read. Each of its members has a name; folders, links and devices, which have no
    content of their own, are None. With `layouts` the directories of other tools are recognised."""
    files: dict[str, Any] = {}
    for count, (name, member) in enumerate(members, start=1):
        if count > MAX_MEMBERS:
            raise InputError(Problem(f"more than {MAX_MEMBERS} files in it", source, hint="nothing of it was read"))
        _check_name(name, source)
        if member is not None:
            files[name] = member
    wanted = [name for name in sorted(files) if is_manifest(name.rpartition("/")[2])]
    layout = layout_of(wanted) if layouts else Layout(tuple(wanted))
    for name in layout.names:
        with open_member(files[name]) as opened:
            yield Content(f"{source}:{name}", budget.read(opened), layout.gathered, layout.left_out)


def _is_link(member: ZipInfo) -> bool:
    return (member.external_attr >> 16) & 0o170000 == 0o120000


def _check_name(name: str, source: str) -> None:
    """Refuse an archive with a name that points out of it. Nothing is written, but the archive is not honest."""
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or ".." in parts:
        text = f"the file {name} in it points out of the archive"
        raise InputError(Problem(text, source, hint="nothing of it was read"))


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
    except ValueError:
        raise InputError(Problem("not a path: it has a character that no name of a file can have", given)) from None
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
        return f"the folders below have {at_least}{counted(below, 'manifest')}: -R reads them"
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
    close = difflib.get_close_matches(path.name, [name for name in names if name != path.name], 1)
    return f"did you mean {path.parent / close[0]}?" if close else ""
