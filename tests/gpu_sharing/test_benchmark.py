"""The benchmark of the policies runs on tables of the published form, which lie in a folder that one names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import gpu_sharing

NODES = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n-{number},64000,262144,2,T4\n" for number in range(4))
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time\n" + "".join(
    f"p-{number},1000,100,1,500,,{number}\n" for number in range(16)
)


@pytest.mark.slow
def test_each_policy_is_measured_and_all_experiments_are_estimated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(NODES)
    (tmp_path / "openb_pod_list_default.csv").write_text(PODS)
    gpu_sharing.main([str(tmp_path), "--fill", "1.0"])
    head, *lines, last = capsys.readouterr().out.splitlines()
    assert head.startswith("policy")
    assert [line.split()[0] for line in lines] == list(gpu_sharing.PLUGINS)
    assert all(float(line.split()[3]) == 100 for line in lines)
    assert "estimate of all 1,020 experiments" in last


def test_the_package_has_a_configuration_for_each_policy() -> None:
    assert {path.stem for path in (gpu_sharing.PACKAGE / "configs").glob("*.yaml")} == gpu_sharing.PLUGINS.keys()
