"""The written cases of `tests/vectors/urls.json`, by hand and not by the code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mercator.urls.canonical import Canonicalizer, canonicalize

VECTORS: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "urls.json").read_text(encoding="utf-8")
)


def _name(case: dict[str, Any]) -> str:
    return f"{case['id']}-{case['kind']}"


@pytest.mark.parametrize("case", VECTORS["cases"], ids=_name)
def test_case(case: dict[str, Any]) -> None:
    found = canonicalize(
        case["input"], case.get("base"), case["policy"], case.get("encoding", "utf-8")
    )
    assert found == case["expect"], case["note"]


@pytest.mark.parametrize("case", [case for case in VECTORS["cases"] if "base" in case], ids=_name)
def test_case_as_a_link_of_its_page(case: dict[str, Any]) -> None:
    base, encoding = case["base"], case.get("encoding", "utf-8")
    canonicalizer = Canonicalizer(case["policy"])
    found = canonicalizer.for_page(base, encoding)(case["input"])
    assert found == canonicalizer.parse(case["input"], base, encoding)
    assert getattr(found, "key_url", None) == case["expect"]


@pytest.mark.parametrize("pair", VECTORS["pairs"], ids=_name)
def test_pair(pair: dict[str, Any]) -> None:
    a, b = (canonicalize(pair[side], policy=pair["policy"]) for side in "ab")
    assert a is not None
    assert b is not None
    assert (a == b) == pair["same"], pair["note"]
