"""`python -m tests.mutation --count 30 --seed S`: small mistakes put into the code, and whether a test fails for each.

Each mutant is one changed token in a copy of the repository: another comparison, `and` for `or`, `+` for `-`, a number
that is one larger, a missing `not`, `False` for `True`, `all` for `any`, `min` for `max`, `break` for `continue`; or a
call or an assignment to an item that is left out. First the test files that import the module run, then the tests
of the folder, then the fast lane, and with --all the whole suite. Several mutants are tried at once, each in a copy of
its own. A mutant that no test fails for has survived: either a test is missing, or the code can be simpler. The exit
code is 1 if any has.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = tuple(
    sorted(each.name for each in (ROOT / "ksched_cli").iterdir() if each.suffix == ".py" or any(each.glob("*.py")))
)
_LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "venv", ".*_cache", ".hypothesis", "__pycache__", "*.egg-info", "build", "dist", "*.log"
)
_SECONDS_PER_TEST = 120
_FAST_LANE = ("-m", "not slow")
_NOTHING_COLLECTED = int(pytest.ExitCode.NO_TESTS_COLLECTED)

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
_OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
}
_FUNCTIONS = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True)
class Mutant:
    """`new` for `old` from byte `start` of the file, whose path begins at the package."""

    path: str
    line: int
    start: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {' '.join(self.old.split())} -> {self.new}"

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.start + len(self.old.encode()) :]


class Sites(ast.NodeVisitor):
    """Every place of a file where a token can be changed. Annotations, decorators and what only type checkers read are
    left out, for no test could fail for them."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source = path, source
        lines = source.splitlines(keepends=True)
        self._starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
        self.found: list[Mutant] = []

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for each in (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body):
            self.visit(each)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in node.body:
            self.visit(each)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            self._between(left, right, *_COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            self._at(self._start(node.func), node.lineno, node.func.id, _FUNCTIONS[node.func.id])
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._at(self._start(node), node.lineno, "break", "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._at(self._start(node), node.lineno, "continue", "break")

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._left_out(node)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._left_out(node)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(each, ast.Name | ast.Tuple) for each in node.targets):
            self._left_out(node)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, *words)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        texts = any(isinstance(each, ast.JoinedStr | ast.List | ast.Tuple) for each in (node.left, node.right))
        if type(node.op) in _OPERATORS and not texts:
            self._between(node.left, node.right, *_OPERATORS[type(node.op)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._at(self._start(node), node.lineno, "not ", "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._at(self._start(node), node.lineno, str(node.value), str(not node.value))
        elif isinstance(node.value, int):
            text = self.source[self._start(node) : self._end(node)].decode()
            self._at(self._start(node), node.lineno, text, str(node.value + 1))

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """The operator, between its operands and the parentheses around them."""
        begin, end = self._end(left), self._start(right)
        pattern = re.escape(old).replace(r"\ ", r"\s+")
        found = re.search(rf"(?<![\w<>=!*/]){pattern}(?![\w<>=*/])".encode(), self.source[begin:end])
        if found:
            line = self.source.count(b"\n", 0, begin + found.start()) + 1
            self._at(begin + found.start(), line, found[0].decode(), new)

    def _left_out(self, node: ast.stmt) -> None:
        """A statement whose result no name of the function needs."""
        self._at(self._start(node), node.lineno, self.source[self._start(node) : self._end(node)].decode(), "pass")

    def _at(self, start: int, line: int, old: str, new: str) -> None:
        self.found.append(Mutant(self.path, line, start, old, new))

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset


def mutants_of(packages: Sequence[str], root: Path = ROOT) -> list[Mutant]:
    """All mutants of these packages, or files, in the order of their places."""
    found: list[Mutant] = []
    for package in packages:
        base = root / "ksched_cli" / package
        for path in [base] if base.is_file() else sorted(base.rglob("*.py")):
            source = path.read_bytes()
            sites = Sites(str(path.relative_to(root)), source)
            sites.visit(ast.parse(source))
            found += sorted(sites.found, key=lambda mutant: mutant.start)
    return found


@dataclass(frozen=True)
class Bench:
    """A copy of the repository in which mutants are tried, one at a time."""

    root: Path
    whole: bool

    @classmethod
    def in_folder(cls, folder: Path, whole: bool) -> Bench:
        shutil.copytree(ROOT, folder, ignore=_LEFT_OUT)
        return cls(folder, whole)

    def killer(self, mutant: Mutant, turn: int) -> str:
        """The test that fails for the mutant, "" if none does."""
        path = self.root / mutant.path
        source = path.read_bytes()
        try:
            path.write_bytes(mutant.applied(source))
            # Compiled files are known by the second and the size of their source.
            moment = time.time() + 2 * turn
            os.utime(path, (moment, moment))
            return next(filter(None, (self._failing(stage) for stage in self._stages(mutant))), "")
        finally:
            path.write_bytes(source)

    def failing_unchanged(self, workers: int) -> str:
        """A test that fails without any mutant: it would be taken for the killer of each."""
        return self._failing([*_FAST_LANE, "-n", str(workers)])

    def _stages(self, mutant: Mutant) -> Iterator[list[str]]:
        near = self._tests_of(mutant.path)
        if near:
            yield [*_FAST_LANE, *near]
        folder = self._folder_of(mutant.path)
        ignored = [f"--ignore={file}" for file in near]
        if folder:
            yield [*_FAST_LANE, *ignored, folder]
            ignored.append(f"--ignore={folder}")
        yield [*_FAST_LANE, *ignored]
        if self.whole:
            yield ["-m", "slow"]

    def _tests_of(self, path: str) -> list[str]:
        """The test files that import the module, or have its name."""
        module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        parts = module.split(".")
        stem = parts[2 if parts[1] == "plugins" and parts[2] != "lib" else -1]
        files = sorted((self.root / "tests").rglob("test_*.py"))
        return [
            str(file.relative_to(self.root))
            for file in files
            if file.stem.startswith(f"test_{stem}") or f"from {module} import" in file.read_text()
        ]

    def _folder_of(self, path: str) -> str:
        """The nearest folder of tests that mirrors the folder of the module."""
        folders = (Path("tests", *folder.parts[1:]) for folder in Path(path).parents[:-2])
        return next((str(folder) for folder in folders if (self.root / folder).is_dir()), "")

    def _failing(self, arguments: Sequence[str]) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=no", "--timeout"]
        command += [str(_SECONDS_PER_TEST), *arguments]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        if done.returncode in (0, _NOTHING_COLLECTED):
            return ""
        found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        return found[1] if found else f"pytest: exit code {done.returncode}"


@dataclass(frozen=True)
class Trial:
    """A mutant and the test that fails for it, "" if none does."""

    mutant: Mutant
    killer: str
    seconds: float

    def __str__(self) -> str:
        return (
            f"{'killed  ' if self.killer else 'SURVIVED'} {self.seconds:4.0f} s  {self.mutant}  {self.killer}".rstrip()
        )


def tried(mutants: Sequence[Mutant], benches: Sequence[Bench]) -> Iterator[Trial]:
    """The trials in the order of the mutants. Each bench tries one mutant at a time."""
    idle: SimpleQueue[Bench] = SimpleQueue()
    for bench in benches:
        idle.put(bench)

    def trial(numbered: tuple[int, Mutant]) -> Trial:
        turn, mutant = numbered
        bench, begin = idle.get(), time.monotonic()
        try:
            return Trial(mutant, bench.killer(mutant, turn), time.monotonic() - begin)
        finally:
            idle.put(bench)

    with ThreadPoolExecutor(len(benches)) as pool:
        yield from pool.map(trial, enumerate(mutants, start=1))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=30, help="How many mutants.")
    parser.add_argument("--seed", type=int, default=0, help="Another seed gives other mutants.")
    parser.add_argument("--workers", type=int, default=2, help="How many mutants are tried at once.")
    parser.add_argument("--all", action="store_true", help="Try the slow tests, too, where the fast ones pass.")
    parser.add_argument("packages", nargs="*", default=PACKAGES, help="Packages or files of ksched_cli.")
    options = parser.parse_args()
    mutants = mutants_of(options.packages)
    chosen = random.Random(options.seed).sample(mutants, min(options.count, len(mutants)))
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        benches = [
            Bench.in_folder(Path(folder, str(number), "ksched"), options.all) for number in range(options.workers)
        ]
        if failing := benches[0].failing_unchanged(options.workers):
            parser.error(f"a test fails without any mutant: {failing}")
        for trial in tried(chosen, benches):
            survivors += not trial.killer
            print(trial, flush=True)  # noqa: T201
    print(f"{len(chosen) - survivors} of {len(chosen)} killed; {len(mutants)} to choose from")  # noqa: T201
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
