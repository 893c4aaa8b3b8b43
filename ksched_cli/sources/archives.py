"""Unpacks compressed files and archives in memory, and finds the files with Kubernetes objects in the layouts of other
tools (must-gather, `kubectl cluster-info dump`). Nothing is written to disk. Most inputs are not packed: what unpacks
them is imported when it is needed. An archive within an archive is not read."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, BinaryIO, TypeVar

from msgspec import Struct

from ksched_cli.errors import InputError, Problem

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
    return (prefix.rfind("/") if mark < 0 else mark - 1) + 1


SUFFIXES = (".json", ".yaml", ".yml")
GZIP, ZIP = b"\x1f\x8b", (b"PK\x03\x04", b"PK\x05\x06")
_TAR_MAGIC, _TAR_OFFSET = b"ustar", 257
_CHUNK = 1024 * 1024

M = TypeVar("M")

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


def _layout(names: Iterable[str], layouts: bool) -> Layout:
    """The files of an archive that are read. With `layouts` the directories of other tools are recognised."""
    wanted = [name for name in names if is_manifest(name.rpartition("/")[2])]
    return layout_of(wanted) if layouts else Layout(tuple(wanted))


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
        raise InputError(Problem(_problem_text(broken), source, hint="make or copy the file again")) from None
    except (NotImplementedError, RuntimeError) as problem:
        # A zip with a password, or with a compression that Python cannot read.
        raise InputError(Problem(f"cannot be unpacked: {problem}", source)) from None


def _problem_text(broken: Exception) -> str:
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
        members = sorted(_bounded(archive, source), key=lambda member: member.name)
        for member in members:
            _check_name(member.name, source)
        # Links and devices have no content of their own.
        files = {member.name: member for member in members if member.isreg()}
        layout = _layout(files, layouts)
        for name in layout.names:
            opened = archive.extractfile(files[name])
            assert opened is not None
            yield Content(f"{source}:{name}", budget.read(opened), layout.gathered, layout.left_out)


def _unzip(file: BinaryIO, source: str, budget: _Budget, layouts: bool) -> Iterator[Content]:
    from zipfile import ZipFile

    try:
        opened_archive = ZipFile(file)
    except UnicodeDecodeError:
        text = "it says that its names are in UTF-8, and one is not"
        raise InputError(Problem(text, source, hint="nothing of it was read")) from None
    with opened_archive as archive:
        members = sorted(_bounded(archive.infolist(), source), key=lambda member: member.filename)
        for member in members:
            _check_name(member.filename, source)
        files = {member.filename: member for member in members if not member.is_dir() and not _is_link(member)}
        layout = _layout(files, layouts)
        for name in layout.names:
            with archive.open(files[name]) as opened:
                yield Content(f"{source}:{name}", budget.read(opened), layout.gathered, layout.left_out)


def _is_link(member: ZipInfo) -> bool:
    return (member.external_attr >> 16) & 0o170000 == 0o120000


def _bounded(members: Iterable[M], source: str) -> Iterator[M]:
    for count, member in enumerate(members, start=1):
        if count > MAX_MEMBERS:
            raise InputError(Problem(f"more than {MAX_MEMBERS} files in it", source, hint="nothing of it was read"))
        yield member


def _check_name(name: str, source: str) -> None:
    """Refuse an archive with a name that points out of it. Nothing is written, but the archive is not honest."""
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or ".." in parts:
        text = f"the file {name} in it points out of the archive"
        raise InputError(Problem(text, source, hint="nothing of it was read"))
