"""The tables of the page on evidence are those of the results."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import orjson
import pytest

from evenrank.experiments.study import read_study

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def evidence() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evidence", ROOT / "benchmarks" / "evidence.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_figures_of_the_results(evidence: ModuleType) -> None:
    page = evidence.PAGE.read_text(encoding="utf-8")
    assert {place["name"] for place in evidence.PLACE.finditer(page)} == set(evidence.TABLES)
    assert evidence.filled(page) == page
    changed = page.replace(" (≤ ", " (< ", 1)
    assert changed != page
    assert evidence.filled(changed) == page


def test_results_are_of_the_study_that_was_written_down_before(evidence: ModuleType) -> None:
    results = orjson.loads(evidence.RESULTS.read_bytes())
    study = read_study(ROOT / "benchmarks" / "reported.toml")
    assert (results["tuning"]["budget"], results["tuning"]["method"]) == (study.budget, study.method)
    planned = {data.name: sum(world.n_eval_topics for world in data.worlds) for data in study.data}
    for world in results["worlds"]:
        ((name, counts),) = world["n_queries"].items()
        assert counts["eval"] <= planned.get(name, counts["eval"])
        assert {policy.label for policy in study.policies} >= {cell["policy"] for cell in world["cells"]}
