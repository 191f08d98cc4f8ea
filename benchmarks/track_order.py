"""Why our methods of Task 2 stand in another order than the track's table: one assumption changed at a time.

Each step makes our policies more like the runs they stand for, and prints how near their order by EE-L comes to the
published one. The first three steps are facts of the track; the last two are guesses about runs without a paper.

    python benchmarks/track_order.py [--pages N] [--topics N] [--seeds 1,2]
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evenrank.cli.listing import aligned
from evenrank.policies.registry import make_policy
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.job import Prepared, RankingJob, full_request
from evenrank.ranking.record import run_from_topics
from evenrank.ranking.sources import SearchSource, Session
from evenrank.scoring.evaluate import evaluate
from evenrank.trec.collection import Collection
from policies import find_all, make_source
from policy_collections import make_collection

RUNS = {
    "deficit": "RUN_task2",
    "controller": "pl_control_0.6",
    "relevance": "UoGTrRelT2",
    "controller:control=0.8": "pl_control_0.8",
    "controller:control=0.92": "pl_control_0.92",
    "plackett-luce:sharpness=2": "PL_IRLab_07",
    "plackett-luce": "PL_IRLab_05",
    "proportional": "UoGTrDivPropT2",
    "relevance-share": "UoGTrDRelDiT2",
    "exposure-disparity": "UoGTrDExpDisT2",
    "exposure-disparity:learned=true": "UoGTrLambT2",
}
"""The run that each policy stands for, best first."""
SCORES = Path(__file__).parents[1] / "tests" / "published" / "t2_2021_run_scores.csv"
PLACES_ONLY = ("proportional", "relevance-share", "exposure-disparity", "exposure-disparity:learned=true")
"""Policies of runs that diversify over places."""
Losses = dict[str, list[float]]


@dataclass(frozen=True)
class Step:
    """What is assumed of the track's runs and scorer."""

    title: str
    protocol: str = "official-2021"
    information: tuple[str, ...] = ("geography",)
    places_only: bool = False
    """Runs that diversify over places rank only pages that have one."""
    shy_of_unknown: bool = False
    """`plackett-luce` draws pages without a place half as often as the target wants."""


STEPS = (
    Step("as our benchmark: 100 × 50 pages scored, gender known", "paper-2021", ("geography", "gender")),
    Step("the track's scorer: 25 × 6 pages against a target of 50", information=("geography", "gender")),
    Step("and no gender known"),
    Step("and UoG's runs rank only pages with a place (a guess)", places_only=True),
    Step("and plackett-luce halves the unknown (a guess)", places_only=True, shy_of_unknown=True),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=30_000)
    parser.add_argument("--topics", type=int, default=40, help="half of them for training")
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2])
    options = parser.parse_args()
    losses: list[Losses] = [{name: [] for name in RUNS} for _ in STEPS]
    for seed in options.seeds:
        with tempfile.TemporaryDirectory() as folder:
            collection = make_collection(Path(folder) / "c", options.pages, options.topics, seed, "pooled")
            source = make_source(collection, BuildSettings(), "untrained")
            find_all(collection, source)
            for step, of_step in zip(STEPS, losses, strict=True):
                for name in RUNS:
                    of_step[name] += exposure_losses(collection, source, step, name, seed)
    print(aligned(list(table(losses))))
    for number, (step, of_step) in enumerate(zip(STEPS, losses, strict=True), 1):
        print(f"{number}: {step.title}; Kendall's tau with the published order {agreement(of_step):+.2f}")


def exposure_losses(collection: Collection, source: SearchSource, step: Step, name: str, seed: int) -> list[float]:
    """EE-L of each evaluation topic under the assumptions of a step."""
    settings = BuildSettings(information=step.information)
    job = RankingJob(Session(collection.path), source, make_policy(name, 2), full_request(2), settings, seed).learned()
    prepared = [job.prepare(topic.id) for topic in collection.topics if topic.split == "eval"]
    results = [job.rank_prepared(as_assumed(topic, step, name)) for topic in prepared if topic is not None]
    topics = evaluate(collection, run_from_topics(job, name, results), step.protocol, min_tier=0)[name].topics
    return [scores["EE-L"] for scores in topics.values()]


def as_assumed(prepared: Prepared, step: Step, name: str) -> Prepared:
    """What the run that a policy stands for looked at."""
    candidates, target = prepared
    if step.places_only and name in PLACES_ONLY:
        is_unknown = candidates.alignment.rows[:, 0] > 0.0
        candidates = candidates.take(np.flatnonzero(~is_unknown[candidates.alignment.page_type]))
    if step.shy_of_unknown and name.startswith("plackett-luce"):
        values = target.values.copy()
        values[0] /= 2.0
        target = replace(target, values=values / values.sum())
    return Prepared(candidates, target)


def published() -> dict[str, float]:
    """Published EE-L of the run that each policy stands for."""
    with SCORES.open(encoding="utf-8", newline="") as lines:
        by_run = {row["run_name"]: float(row["EE-L"]) for row in csv.DictReader(lines)}
    return {name: by_run[run] for name, run in RUNS.items()}


def table(losses: list[Losses]) -> Iterator[list[object]]:
    """Mean EE-L by policy and step, in the published order."""
    yield ["policy", "run", "published", *(f"step {number}" for number in range(1, len(STEPS) + 1))]
    for name, loss in published().items():
        yield [name, RUNS[name], f"{loss:.2f}", *(f"{np.mean(of_step[name]):.2f}" for of_step in losses)]


def agreement(losses: Losses) -> float:
    """Kendall's tau between the published EE-L and ours."""
    from scipy.stats import kendalltau

    return float(kendalltau(list(published().values()), [np.mean(losses[name]) for name in RUNS]).statistic)


if __name__ == "__main__":
    main()
