"""Rows in a folder: nothing is lost, and nothing is run twice."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import KschedError, UsageError
from ksched_cli.plan.run.each import Cores, Executor, InProcess, Processes
from ksched_cli.plan.sweep.run import RowStore, SweepExecution, SweepRun
from ksched_cli.plan.sweep.statistics import VariantRow, decode_rows, encode_rows
from ksched_cli.simulator import Simulator
from tests.cli.karpenter import TYPE, node_pool
from tests.plan.sweep.clusters import cluster
from tests.plan.sweep.sweeping import MANY, simulator, sorted_lines, stored_lines


@pytest.mark.slow
def test_a_sweep_that_was_left_is_resumed_without_repeating_a_variant(tmp_path: Path) -> None:
    whole = sorted_lines(simulator().sweep(**MANY))
    rows = iter(simulator().sweep(out=str(tmp_path), **MANY))
    # The first span is a single variant, and the second one has not begun.
    first = [next(rows)]
    rows.close()  # type: ignore[attr-defined]  # a generator
    stored = len(stored_lines(tmp_path))
    assert stored == 1 < len(whole)
    run = simulator().sweep(out=str(tmp_path), resume=True, **MANY)
    assert sorted_lines(run) == whole == stored_lines(tmp_path)
    assert run.result().stats.resumed == stored
    assert all(encode_rows([row]) in whole for row in first)


def test_a_line_that_was_not_written_to_its_end_is_run_again(tmp_path: Path) -> None:
    whole = sorted_lines(simulator().sweep(fail="node", out=str(tmp_path)))
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(rows.read_bytes()[:-10])
    run = simulator().sweep(fail="node", out=str(tmp_path), resume=True)
    assert sorted_lines(run) == whole == stored_lines(tmp_path)
    assert run.result().stats.resumed == len(whole) - 1


@pytest.mark.slow
def test_a_sweep_that_is_done_is_only_read(tmp_path: Path) -> None:
    simulator().sweep(fail="node", out=str(tmp_path)).result()
    before = (tmp_path / "rows.jsonl").read_bytes()
    result = simulator().sweep(fail="node", out=str(tmp_path), resume=True, workers=2).result()
    assert result.stats.resumed == result.variants
    assert (tmp_path / "rows.jsonl").read_bytes() == before


@pytest.mark.slow
def test_the_driver_is_killed_and_another_one_goes_on(tmp_path: Path) -> None:
    """The process is killed when its first row is on the disk."""
    code = (
        "from tests.plan.sweep.sweeping import MANY, simulator\n"
        "import sys\n"
        "for row in simulator().sweep(out=sys.argv[1], **MANY): print(row.variant, flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline()
        os.kill(driver.pid, signal.SIGKILL)
    whole = sorted_lines(simulator().sweep(**MANY))
    run = simulator().sweep(out=str(tmp_path), resume=True, **MANY)
    assert sorted_lines(run) == whole == stored_lines(tmp_path)
    assert run.result().stats.resumed >= 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param({"fail": "zone"}, "the rows of another sweep: dimensions, variants differ", id="other dimensions"),
        pytest.param({"fail": "node", "seed": 2}, "the rows of another sweep: seed differ", id="other seed"),
    ],
)
def test_rows_of_another_sweep_are_refused(words: dict[str, object], message: str, tmp_path: Path) -> None:
    simulator().sweep(fail="node", out=str(tmp_path)).result()
    with pytest.raises(UsageError, match=message):
        simulator().sweep(out=str(tmp_path), resume=True, **words).result()  # type: ignore[arg-type]


def test_rows_of_another_cluster_are_refused(tmp_path: Path) -> None:
    simulator(3).sweep(fail="zone", out=str(tmp_path)).result()
    with pytest.raises(UsageError, match="the rows of another sweep: cluster differ"):
        simulator(4).sweep(fail="zone", out=str(tmp_path), resume=True).result()


def test_rows_of_another_scheduler_are_refused(tmp_path: Path) -> None:
    other = Simulator.load(cluster(3, pending=2), kube_version="1.34")
    simulator(3).sweep(fail="zone", out=str(tmp_path)).result()
    with pytest.raises(UsageError, match="the rows of another sweep: cluster differ"):
        other.sweep(fail="zone", out=str(tmp_path), resume=True).result()


def test_rows_of_another_autoscaler_are_refused(tmp_path: Path) -> None:
    types = tmp_path / "types.json"
    types.write_text(json.dumps({"instanceTypes": [TYPE]}))

    def sweep(flag: str, **options: Any) -> SweepRun:
        items = [*cluster(3, pending=2), node_pool()]
        simulator = Simulator.load(items, autoscaler="auto", instance_types=str(types), autoscaler_flags=[flag])
        return simulator.sweep(fail="zone", out=str(tmp_path / "rows"), **options)

    sweep("preference-policy=Respect").result()
    sweep("preference-policy=Respect", resume=True).result()
    with pytest.raises(UsageError, match="the rows of another sweep: cluster differ"):
        sweep("preference-policy=Ignore", resume=True).result()


def test_rows_of_another_version_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulator().sweep(fail="zone", out=str(tmp_path)).result()
    monkeypatch.setattr("ksched_cli.plan.sweep.run.__version__", "9.9")
    with pytest.raises(UsageError, match=r"the rows were made by ksched .*, and this is 9\.9"):
        simulator().sweep(fail="zone", out=str(tmp_path), resume=True).result()


@pytest.mark.slow
def test_a_folder_with_rows_is_never_overwritten(tmp_path: Path) -> None:
    simulator().sweep(fail="zone", out=str(tmp_path)).result()
    before = (tmp_path / "rows.jsonl").read_bytes()
    with pytest.raises(UsageError, match="--resume goes on with it"):
        simulator().sweep(fail="zone", out=str(tmp_path)).result()
    assert (tmp_path / "rows.jsonl").read_bytes() == before


def test_two_sweeps_do_not_write_to_one_folder(tmp_path: Path) -> None:
    rows = iter(simulator().sweep(fail="node", out=str(tmp_path)))
    next(rows)
    with pytest.raises(UsageError, match="another sweep is writing to the folder"):
        simulator().sweep(fail="node", out=str(tmp_path), resume=True).result()


def test_a_line_that_is_no_row_is_named(tmp_path: Path) -> None:
    simulator().sweep(fail="zone", out=str(tmp_path)).result()
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(b"{}\n" + rows.read_bytes())
    with pytest.raises(KschedError, match=r"rows\.jsonl: line 1|rows\.jsonl:1: the line is no row of a sweep"):
        simulator().sweep(fail="zone", out=str(tmp_path), resume=True).result()


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"^\S+: file exists$"):
        simulator().sweep(fail="zone", out=str(tmp_path / "file")).result()


def test_progress_counts_the_variants_that_are_done() -> None:
    seen: list[tuple[int, int]] = []
    run = simulator().sweep(fail="node", progress=lambda done, of_all: seen.append((done, of_all)))
    rows = list(run)
    assert seen == sorted(seen)
    assert (seen[-1], {of_all for _, of_all in seen}) == ((len(rows), len(rows)), {len(run)})


def test_the_rate_counts_variants_that_were_run(tmp_path: Path) -> None:
    out = str(tmp_path)
    first = simulator().sweep(fail="zone", out=out).result()
    assert (first.variants, first.stats.resumed, first.stats.workers) == (2, 0, 1)
    assert first.stats.variants_per_second == pytest.approx(2 / first.stats.seconds, rel=0.05)
    again = simulator().sweep(fail="zone", out=out, resume=True).result()
    assert (again.variants, again.stats.resumed, again.stats.variants_per_second) == (2, 2, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "is_drawn"),
    [
        pytest.param({"fail": "zone"}, False, id="all failures"),
        pytest.param({"fail": "node", "sample": 1}, True, id="a sample"),
        pytest.param({"fail": "zone", "sample": 9}, False, id="a sample of more than there are"),
        pytest.param({"fail": "zone", "ties": 1}, True, id="tie-breaks"),
        pytest.param({"orders": 1}, True, id="orders"),
    ],
)
def test_which_variants_are_drawn_of_many(words: dict[str, Any], is_drawn: bool) -> None:
    assert simulator().sweep(**words).result().is_drawn is is_drawn


@pytest.mark.parametrize("installed", [True, False])
def test_dask_has_to_be_installed(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if installed else None)
    execution = SweepExecution(dask="tcp://scheduler:8786")
    if installed:
        assert execution.executor(3).name == "dask"
    else:
        with pytest.raises(UsageError, match=r"--dask needs dask.distributed: pip install 'ksched-cli\[dask\]'"):
            execution.executor(3)


def test_resume_goes_with_out() -> None:
    with pytest.raises(UsageError, match="--resume goes with --out"):
        simulator().sweep(fail="zone", resume=True)


def store(folder: Path, *, resume: bool = False) -> RowStore[VariantRow]:
    return RowStore(str(folder), {"ksched": "1", "variants": 3}, decode_rows, resume=resume)


def line(variant: int) -> bytes:
    return encode_rows([VariantRow(variant, {}, "safe")])


ABOUT = '{"ksched": "1", "variants": 3}'


@pytest.mark.parametrize(
    ("files", "resume", "message"),
    [
        pytest.param({}, False, "", id="an empty folder"),
        pytest.param({}, True, "", id="nothing to resume yet"),
        pytest.param({"rows.jsonl": ""}, True, "it has rows.jsonl and no sweep.json", id="rows of no sweep"),
        pytest.param(
            {"sweep.json": ABOUT}, False, "the folder has the rows of an earlier sweep", id="an earlier sweep"
        ),
        pytest.param({"sweep.json": ABOUT, "rows.jsonl": ""}, True, "", id="the same sweep"),
        pytest.param({"sweep.json": "{"}, True, "sweep.json: it is no JSON", id="no JSON"),
        pytest.param({"sweep.json": "[]"}, True, "another sweep: ksched, variants differ", id="no object"),
        pytest.param({"sweep.json": '{"ksched": "1"}'}, True, "another sweep: variants differ", id="a part is missing"),
        pytest.param(
            {"sweep.json": '{"ksched": "2"}'},
            True,
            "made by ksched 2, and this is 1",
            id="another version counts first",
        ),
    ],
)
def test_folders_that_are_taken(files: dict[str, str], resume: bool, message: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    rows = store(tmp_path, resume=resume)
    if message:
        with pytest.raises(KschedError) as raised:
            list(rows.open())
        assert message in str(raised.value)
        assert {each.name: each.read_text() for each in tmp_path.iterdir()} == files
        return
    assert list(rows.open()) == []
    rows.close()
    assert json.loads((tmp_path / "sweep.json").read_text()) == json.loads(ABOUT)


@pytest.mark.parametrize(
    ("workers", "variants", "kind", "used"),
    [
        pytest.param(0, 3, Cores, 1, id="as the time needs"),
        pytest.param(1, 3, InProcess, 1, id="one"),
        pytest.param(2, 3, Processes, 2, id="two"),
        pytest.param(8, 3, Processes, 3, id="no more than variants"),
    ],
)
def test_how_variants_run(workers: int, variants: int, kind: type[Executor], used: int) -> None:
    executor = SweepExecution(workers=workers).executor(variants)
    assert (type(executor), executor.workers) == (kind, used)


def test_no_fewer_workers_than_none() -> None:
    with pytest.raises(UsageError, match="--workers -1: 0 is one for each core"):
        SweepExecution(workers=-1)


def test_a_dimension_that_there_is_not() -> None:
    with pytest.raises(UsageError, match=r"there is no dimension floors, rooms; there are .*fail"):
        simulator().sweep(fail="zone", rooms=1, floors=2)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        pytest.param(OSError(errno.ENOSPC, "No space left on device"), "no space left on device", id="a full disk"),
        pytest.param(OSError("Broken"), "broken", id="a problem without a number"),
    ],
)
def test_a_row_that_cannot_be_written_is_cut_off(
    problem: OSError, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows before it stay. The folder and those above it are made."""
    rows = store(tmp_path / "of" / "rows")
    assert list(rows.open()) == []
    rows.append(line(0))
    rows.append(line(1))

    def broken(_: object) -> None:
        raise problem

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(KschedError, match=f"cannot write the rows: {text} "):
        rows.append(line(2))
    rows.close()
    assert rows.path.read_bytes() == line(0) + line(1)


@pytest.mark.parametrize(
    ("variants", "resumed"),
    [
        pytest.param([1, 0, 1], [1, 0], id="a row that is there twice"),
        pytest.param([-1, 1], [1], id="a negative number"),
        pytest.param([3, 2, 4], [2], id="numbers that no variant has"),
    ],
)
def test_a_row_counts_once_and_for_a_variant_of_the_sweep(
    variants: list[int], resumed: list[int], tmp_path: Path
) -> None:
    rows = store(tmp_path)
    assert list(rows.open()) == []
    rows.append(b"".join(map(line, variants)))
    rows.close()
    again = store(tmp_path, resume=True)
    assert [row.variant for row in again.open()] == resumed
    again.close()


@pytest.mark.slow
def test_a_full_disk_ends_the_sweep_and_leaves_whole_lines(tmp_path: Path) -> None:
    """The size of files is limited to less than all rows take. The child writes no byte code (-B): the limit would
    cut it off, too, and leave broken .pyc files in the checkout."""
    code = (
        "import resource, signal, sys\n"
        "from ksched_cli.cli.main import run\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "sys.exit(run(['sweep', '--from', sys.argv[1], '--fail', 'node', '--out', sys.argv[2], '-o', 'csv', '--workers', '1']))"
    )
    fleet = str(Path(__file__).parents[3] / "fixtures" / "clusters" / "drain.yaml")
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, fleet, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert (
        "cannot write the rows: file too large (the rows before are whole: --resume goes on with them)" in done.stderr
    )
    lines = stored_lines(tmp_path)
    assert 0 < len(lines) < 4
    assert len(done.stdout.splitlines()) == 1 + len(lines)
