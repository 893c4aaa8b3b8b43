"""`ksched trace`: writes a cluster made of a trace of nodes and pods (`Simulator.trace`, `sources/traces.py`). Nothing
is scheduled: other commands read what it writes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ksched_cli.cli.streams import OutputFile, check_outputs, print_row, write_files
from ksched_cli.simulator import Simulator

HELP = """Makes a cluster of a scheduling trace: a table (CSV) of nodes and a table of pods that arrived.

The result is a List of nodes and pending pods, which --from reads. Pods arrive one second apart: in the order of the
mapping's time of arrival, or with --seed in an order that the seed draws. With --fill pods are drawn again, or left
out, until together they are as large as a share of the nodes.

--mapping names what each column becomes. openb is built in: the GPU trace that Alibaba published in 2023. A file of
your own has texts in which {column} is the cell of that row:

  nodes:
    name: "{machine}"
    resources: {cpu: "{cores}", memory: "{memory_gib}Gi", pods: "110"}
  pods:
    name: "{job}-{task}"
    requests: {cpu: "{cpu}", memory: "{mem}Gi"}
    arrival: "{submitted}"
  fill: {node: cores, pod: cpu}

A field whose columns are all empty is left out. No pod ends: ksched has no lifetimes of pods."""

EPILOG = """Examples:

  ksched trace nodes.csv pods.csv -o cluster.json
  ksched trace nodes.csv pods.csv --seed 42 --fill 1.3 -o cluster.json
  ksched trace machines.csv tasks.csv --mapping my-trace.yaml > cluster.json
  ksched simulate --from cluster.json

Exit codes: 0 the cluster is written, 2 a table, the mapping or the command line is wrong."""


def trace(
    nodes: Annotated[str, typer.Argument(metavar="NODES.csv", help="The table of nodes.")],
    pods: Annotated[str, typer.Argument(metavar="PODS.csv", help="The table of pods.")],
    mapping: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="What the columns become: openb, or a YAML file.")
    ] = "openb",
    seed: Annotated[int | None, typer.Option(help="Draw the order of arrival, and what --fill draws, by it.")] = None,
    fill: Annotated[
        float | None, typer.Option(min=0.001, help="How large all pods are together, as a share of all nodes.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write; without it to stdout.")
    ] = None,
) -> None:
    from ksched_cli.report.encoding import json_text

    path = None if output == "-" else output
    check_outputs([path] if path else [], [nodes, pods])
    cluster = Simulator.trace(nodes, pods, mapping=mapping, seed=seed, fill=fill)
    text = f"{json_text(cluster)}\n"
    if path is None:
        sys.stdout.write(text)
        return
    write_files([OutputFile(path, text.encode())])
    kinds = [item["kind"] for item in cluster["items"]]
    print_row(f"{path}: {kinds.count('Node')} nodes, {kinds.count('Pod')} pods")
