"""What a result does not take into account, in words: each key of `coverage`, in the order of its importance."""

from __future__ import annotations

from typing import Any

from ksched_cli.report.view.documents import omissions

COVERAGE: dict[str, Any] = {
    "claimsNotRead": ["claim c"],
    "notRead": {"Widget": 2},
    "podGroupsNotModelled": ["group g"],
    "jobsNotModelled": ["Job j"],
    "nodesNotModelled": ["node n"],
    "autoscalersNotModelled": ["HPA h"],
    "admissionNotModelled": ["webhook w"],
    "missing": {"storageclasses": "forbidden"},
    "manifestsNotChecked": {"Role": 1, "Ingress": 3},
    "extenders": [
        {"extender": "e", "passedOver": [{"verb": "filter", "times": 1, "error": "EOF"}]},
        {"extender": "f", "passedOver": [{"verb": "prioritize", "times": 2, "error": "EOF"}], "changedNodes": True},
        {"extender": "g", "bind": True},
    ],
    "extendersCouldChange": [
        {"extender": "h", "couldChange": ["filter", "score"], "podsThatAskFor": ["a/b", "a/c"]},
        {"extender": "i", "couldChange": []},
    ],
    "featureGatesNotModelled": ["G"],
    "pluginsNotModelled": ["P"],
    "kubeVersionNotModelled": "1.39",
}


def test_each_key_of_coverage_is_named() -> None:
    assert omissions(COVERAGE) == [
        "what is different in Kubernetes 1.39",
        "plugin P",
        "feature gate G",
        "extender h (decides on filter and score for pods that ask for a/b or a/c; --allow-extenders calls it)",
        "extender i",
        "filter of extender e, which failed once (EOF)",
        "prioritize of extender f, which failed 2 times (EOF)",
        "changes that extender f made to nodes",
        "bind of extender g, which is never called: it gets no placement",
        "manifests whose values are not checked: 1 Role, 3 Ingress",
        "storageclasses (forbidden)",
        "webhook w",
        "HPA h",
        "node n",
        "Job j",
        "group g",
        "claim c",
        "2 Widget",
    ]


def test_a_result_that_takes_everything_into_account_names_nothing() -> None:
    assert omissions({"kubeVersion": "1.36"}) == []
