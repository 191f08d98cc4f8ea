"""How people read reaches targets and policies: rankings made for a kind of reader serve that kind best."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.core.exposure import Cascade, Geometric, block_exposure, parse_attention
from evenrank.errors import EvenrankError
from evenrank.policies.policy import Request
from evenrank.policies.registry import POLICIES
from evenrank.scoring.oracle import oracle_run
from evenrank.trec.collection import Collection
from evenrank.trec.target_choice import soft_block_exposure

from .made_up import make_candidates, target_of

STEEP = parse_attention("rbp:0.6")
USES_ATTENTION = {1: {"optimal"}, 2: {"optimal", "controller", "exposure-lp"}}
"""Policies whose rankings of these candidates depend on how people read."""


@pytest.mark.parametrize("model", ["log", "rbp:0.6", "uniform", "table:4,2,1"])
def test_whole_counts_give_the_true_ideal_exposure(model: str) -> None:
    counts = np.array([2, 0, 3, 1])
    attention = parse_attention(model)
    assert soft_block_exposure(counts.astype(float), attention) == pytest.approx(
        block_exposure(counts, np.float64, attention)
    )


@pytest.mark.parametrize("task", [1, 2])
def test_policies_that_count_exposure_follow_the_reader(task: int) -> None:
    """They rank differently for readers who stop early; the order by relevance does not, and no policy breaks."""
    candidates = make_candidates(60, seed=4)
    changed = set()
    for name, policy in POLICIES.items():
        if task not in policy.tasks or getattr(policy, "needs_texts", False):
            continue
        requests = [
            Request(task, 1 if task == 1 else 6, 12, attention) for attention in (parse_attention("log"), STEEP)
        ]
        ranked = [
            policy().rank(candidates, target_of(candidates, request), request, np.random.default_rng(1)).positions
            for request in requests
        ]
        if ranked[0].tolist() != ranked[1].tolist():
            changed.add(name)
    assert USES_ATTENTION[task] <= changed
    assert "relevance" not in changed


def test_a_sequence_for_a_reader_serves_that_reader(golden_collection: Collection) -> None:
    run = oracle_run(golden_collection, 2, 0.5).run
    made = {
        model: evenrank.rank(
            golden_collection, 2, candidates=run, attention=model, workers=1, name=model.replace(":", "")
        )
        for model in ("log", "rbp:0.6")
    }
    assert made["rbp:0.6"].record["candidates"]["attention"] == "rbp:0.6"
    for model in made:
        scored = evenrank.evaluate(golden_collection, [ranked.run for ranked in made.values()], attention=model)
        best = min(scored.runs, key=lambda result: result.scores["EE-L"])
        assert best.run == model.replace(":", "")


def test_expected_attention_of_a_cascade_is_its_mean_over_what_may_be_relevant() -> None:
    """By listing every way in which pages can be relevant, with its chance."""
    chances, model = np.array([0.9, 0.2, 0.5, 0.0, 1.0]), Cascade(0.8, 0.6)
    mean = np.zeros(len(chances))
    for outcome in product((0, 1), repeat=len(chances)):
        is_relevant = np.array(outcome)
        chance = float(np.prod(np.where(is_relevant, chances, 1.0 - chances)))
        above = np.cumsum(is_relevant) - is_relevant
        mean += chance * model.given(np.arange(len(chances)), above)
    assert model.expected(chances).values == pytest.approx(mean, rel=1e-12)
    assert model.expected(np.ones(4)).values == pytest.approx(model.weights(4))
    assert model.expected(np.zeros(4)).values == pytest.approx(Geometric(0.8).weights(4))


def test_a_sequence_for_readers_of_a_cascade_serves_them(golden_collection: Collection) -> None:
    run = oracle_run(golden_collection, 2, 0.5).run
    made = [
        evenrank.rank(golden_collection, 2, candidates=run, attention=model, workers=1, name=name)
        for name, model in (("log", "log"), ("rbp", "rbp:0.8"), ("gerr", "gerr:0.8,0.5"))
    ]
    assert made[2].record["candidates"]["attention"] == "gerr:0.8,0.5"
    scored = evenrank.evaluate(golden_collection, [ranked.run for ranked in made], attention="gerr:0.8,0.5")
    assert min(scored.runs, key=lambda result: result.scores["EE-L"]).run == "gerr"


@pytest.mark.parametrize("task", [1, 2])
def test_every_policy_and_the_frontier_take_a_cascade(golden_collection: Collection, task: int) -> None:
    run, topic = oracle_run(golden_collection, task, 0.5).run, golden_collection.topics[-1].id
    for name, policy in POLICIES.items():
        if task in policy.tasks and not getattr(policy, "needs_text", False):
            arguments = {"candidates": run, "attention": "gerr:0.9,0.3", "topics": [topic], "workers": 1}
            ranked = evenrank.rank(golden_collection, task, name, **arguments)
            assert set(ranked.run.topic_ids.tolist()) == {topic}
    found = evenrank.pareto(
        golden_collection, task, candidates=run, attention="gerr", topics=[topic], weights=[0.1, 1.0], workers=1
    )
    assert len(found.mean) == 2


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("gerr:0.8,1", "the satisfaction from 0 to below 1"),
        ("table:1,2", "rank 2 has 2, more than rank 1 with 1"),
        ("rbp:7", "persistence must lie between 0 and 1"),
        ("steep", "unknown attention model 'steep'"),
    ],
)
def test_models_that_policies_cannot_serve(
    golden_collection: Collection, tmp_path: Path, model: str, said: str
) -> None:
    with pytest.raises(EvenrankError, match="attention"):
        evenrank.rank(golden_collection, 1, "relevance", attention=model)
    output = tmp_path / "run"
    arguments = ["rank", str(golden_collection.path), "--task", "1", "--policy", "relevance", "-o", str(output)]
    result = CliRunner().invoke(cli, [*arguments, "--attention", model], standalone_mode=False)
    assert isinstance(result.exception, EvenrankError)
    assert said in str(result.exception)
    assert not output.exists()
