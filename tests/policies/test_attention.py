"""How people read reaches targets and policies: rankings made for a kind of reader serve that kind best."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.collection.collection import Collection
from evenrank.errors import EvenrankError
from evenrank.evaluation.oracle import oracle_run
from evenrank.exposure import block_exposure, parse_attention
from evenrank.policies.policy import Request
from evenrank.policies.registry import POLICIES
from evenrank.targets.estimated import soft_block_exposure

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


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("gerr:0.8,0.5", "depends on which pages are relevant, which no policy knows (rank with rbp:0.8"),
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
