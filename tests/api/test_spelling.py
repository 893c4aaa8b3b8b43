"""Typing errors, and names that only look alike."""

from __future__ import annotations

import pytest

from ksched_cli.api.spelling import nearest


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        pytest.param("ab", ["ac"], "", id="two letters"),
        pytest.param("abc", ["abd"], "abd", id="one of three letters"),
        pytest.param("abcde", ["abdce"], "abdce", id="two letters are swapped"),
        pytest.param("abcde", ["axcdy"], "", id="two of five letters"),
        pytest.param("abcdef", ["axcdyf"], "axcdyf", id="two of six letters"),
        pytest.param("abcdefghijklm", ["xbcdexghijklx"], "", id="three of thirteen letters"),
        pytest.param("abcdefghijklmn", ["xbcdexghijklxn"], "xbcdexghijklxn", id="three of fourteen letters"),
        pytest.param("abcdefghijklmn", ["abcdefghijklmnopqr"], "", id="four letters are missing"),
        pytest.param("defualt", ["default"], "default", id="a swap in a long word"),
        pytest.param("kube_system", ["kube-system"], "kube-system", id="separators"),
        pytest.param("a", ["a--"], "a--", id="separators as long as the word"),
        pytest.param("zone-a", ["zone-b"], "", id="letters that count"),
        pytest.param("pool-10", ["pool-20"], "", id="numbers"),
        pytest.param("zone-abc", ["zone-abd"], "zone-abd", id="a word that does not count"),
        pytest.param("zone-abc", ["zone-ab"], "zone-ab", id="one part counts, the other does not"),
        pytest.param("standard", ["standard-a"], "", id="a part more at the end"),
        pytest.param("standard", ["a-standard"], "", id="a part more at the beginning"),
        pytest.param("standard-a", ["standard"], "", id="a part less"),
        pytest.param("stendard", ["standard-a"], "", id="a part more, and a wrong letter"),
        pytest.param("bacde", ["abcde"], "abcde", id="the first letters are swapped"),
        pytest.param("poolx-a", ["pool-x-a"], "pool-x-a", id="a separator more"),
        pytest.param("poool-a", ["pool-b-a", "pool-a"], "pool-a", id="the nearest of two"),
        pytest.param("mode", ["bode", "model"], "model", id="the first letter counts"),
        pytest.param("codes", ["codex", "cades"], "cades", id="the second letter does not"),
        pytest.param("ab", ["abc"], "", id="a letter more than two"),
        pytest.param("abcde", ["axcdef"], "", id="two of six letters, of which five are written"),
        pytest.param("abcdefghijklmn", ["xbcxexghijklxn"], "", id="four of fourteen letters"),
        pytest.param("abcdefghijklmn", ["abcdefghijklmnopq"], "abcdefghijklmnopq", id="three letters are missing"),
        pytest.param("gpu-eu", ["gpu-us"], "", id="two letters that count"),
        pytest.param("node-a10", ["node-b10"], "", id="letters with a number"),
        pytest.param("pool-1-abc", ["pool-2-abd"], "", id="a number and a letter"),
        pytest.param("xyzy", ["xyzzy"], "xyzzy", id="a letter that is doubled"),
        pytest.param("---", ["a--"], "", id="no word"),
        pytest.param("same", ["same"], "", id="the word itself"),
        pytest.param("word", [], "", id="nothing is known"),
    ],
)
def test_nearest(word: str, known: list[str], expected: str) -> None:
    assert nearest(word, known) == expected
