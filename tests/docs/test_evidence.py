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


@pytest.mark.parametrize(("task", "name"), [(1, "lists"), (2, "sequences")])
def test_results_are_of_the_study_that_was_written_down_before(evidence: ModuleType, task: int, name: str) -> None:
    results = orjson.loads(evidence.RESULTS.read_bytes())
    study = read_study(ROOT / "benchmarks" / f"{name}.toml")
    tuning = results["tuning"][str(task)]
    assert (tuning["budget"], tuning["method"], tuning["queries"]) == (
        study.budget,
        study.method,
        study.tuning_queries,
    )
    per_seed = {data.name: data.worlds[0].n_eval_topics for data in study.data}
    n_seeds = set()
    for world in evidence.worlds_of(results, task):
        ((data, counts),) = world["n_queries"].items()
        n_seeds |= {divmod(counts["eval"], per_seed[data])} if data in per_seed else set()
        assert {policy.label for policy in study.policies} >= {cell["policy"] for cell in world["cells"]}
        assert not any(cell["error"] for cell in world["cells"])
    ((n_first, rest),) = n_seeds
    assert rest == 0
    assert n_first <= min(len(data.worlds) for data in study.data)
    assert per_seed.keys() <= {world["cells"][0]["data"] for world in evidence.worlds_of(results, task)}
