"""What people get to see: lists by how far they read, and draws by how many relevant pages are ever shown.

Task 1 under `paper-2021` at depths 10 to 1000 and under `official-2021`; Task 2 with all groups known, and with gender
unknown to the systems and known to the scorer. Collections are generated for each seed; evaluation topics of all seeds
are pooled for paired tests. Times are processor times: run it with OPENBLAS_NUM_THREADS=1 for those of one core.

    python benchmarks/people.py [--pages N] [--topics N] [--seeds 131,132,133] [--judgments pooled|complete]
                                [--tasks 1,2] [--policy NAME]... [--folder DIR]

`--folder` keeps collections and the scores of every policy, so that an interrupted run resumes; remove a file of scores
to have it made again. Seeds 11 (pooled), 12 (complete), 31 to 33, 81 to 83, 91 to 93 and 101 to 103 were used to choose
the default settings of `optimal`; 41 to 43, 51 to 53, 71 to 73 and 111 to 122 served earlier claims. What the
documentation claims was measured on seeds 131 to 142 (Task 1) and 131 to 133 (Task 2), fixed before any of them was
looked at.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from evenrank.cli.listing import aligned
from evenrank.core.records import Run, Task
from evenrank.policies.policy import wants_learning
from evenrank.policies.registry import make_policy
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.job import Prepared, RankingJob, TopicRankings, full_request
from evenrank.ranking.record import run_from_topics
from evenrank.ranking.sources import Session
from evenrank.scoring.evaluate import evaluate
from evenrank.trec.collection import Collection
from policies import find_all, make_source
from policy_collections import JUDGMENTS, make_collection

DEPTHS = (10, 20, 50, 100, 1000)
ALONE = "optimal:depths=1000,depth_weights=1"
"""The same solver for the end of the list alone, which no other policy is compared with."""
LISTS = (
    *("optimal", ALONE, "relevance", "mmr", "mmr:balance=0.3", "proportional", "proportional:diversifier=pm2"),
    *("relevance-share", "exposure-disparity", "exposure-disparity:learned=true", "fusion", "fusion:method=combmnz"),
    *("deficit", "deficit:n_windows=0,weight=0.1", "swap", "filter", "union", "best-of", "fa-ir", "det-const-sort"),
    "epsilon-greedy",
)
UNSPREAD = "optimal:spread=0,include_above=2"
"""The same solver without spreading exposure over pages."""
DRAWS = (
    *("optimal", UNSPREAD, "relevance", "proportional", "relevance-share", "exposure-disparity", "deficit"),
    *("controller", "controller:control=0.92", "plackett-luce", "plackett-luce:balance=0.5"),
    *("plackett-luce:balance=0.7", "epsilon-greedy", "exposure-lp", "fusion"),
)
CURVE = tuple(f"optimal:fairness={weight}" for weight in (0.32, 0.55, 0.71, 2, 4))
"""Weights of fairness along which the curve of EE-L against precision is drawn."""
INFORMATION = {"known": ("geography", "gender"), "unknown": ("geography",)}
Scores = dict[str, dict[str, list[float]]]
"""Policy → measure → one value a topic."""


def main() -> None:
    options = read_options()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        found = [scores_of(folder / f"{options.judgments}{seed}", seed, options) for seed in options.seeds]
    print(f"{options.pages:,} pages, seeds {options.seeds}, {options.judgments} judgments of evaluation topics")
    if 1 in options.tasks:
        print_lists(joined([scores["1-known"] for scores in found]))
    if 2 in options.tasks:
        print_draws(joined([scores["2-known"] for scores in found]), "all groups known")
        print_draws(joined([scores["2-unknown"] for scores in found]), "gender unknown to the systems")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=30_000)
    parser.add_argument("--topics", type=int, default=80, help="half of them for training")
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[131, 132, 133])
    parser.add_argument("--judgments", choices=JUDGMENTS, default="pooled", help="of the evaluation topics")
    parser.add_argument("--tasks", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2])
    parser.add_argument("--policy", action="append", help="only this one, with its settings; may be repeated")
    parser.add_argument("--folder", type=Path, help="keep collections and scores here, and resume from them")
    return parser.parse_args()


def scores_of(folder: Path, seed: int, options: argparse.Namespace) -> dict[str, Scores]:
    """Scores of every policy on one collection, by task and what is known; made where they are not in the folder."""
    if not (folder / "collection" / "manifest.json").exists():
        make_collection(folder / "collection", options.pages, options.topics, seed, options.judgments)
    collection = Collection.open(folder / "collection")
    found: dict[str, Scores] = {}
    parts: tuple[tuple[Task, str], ...] = ((1, "known"), (2, "known"), (2, "unknown"))
    for task, information in parts:
        if task not in options.tasks:
            continue
        names = options.policy or (LISTS if task == 1 else (*DRAWS, *CURVE))
        of_part = found[f"{task}-{information}"] = {}
        part = Part(collection, seed, task, information)
        for name in names:
            file = folder / f"{task}-{information}-{re.sub('[^a-z0-9.=-]', '_', name)}.json"
            if not file.exists():
                unfinished = file.with_suffix(".unfinished")
                unfinished.write_text(json.dumps(part.scores(name)))
                unfinished.replace(file)
            of_part[name] = json.loads(file.read_text())
    return found


def joined(parts: Sequence[Scores]) -> Scores:
    """Topics of several collections as one, for the policies that all of them have."""
    names = [name for name in parts[0] if all(name in part for part in parts)]
    return {
        name: {measure: [value for part in parts for value in part[name][measure]] for measure in parts[0][name]}
        for name in names
    }


class Part:
    """A task on one collection with what the systems know; candidates are found once, when first needed."""

    def __init__(self, collection: Collection, seed: int, task: Task, information: str) -> None:
        self.collection, self.seed, self.task = collection, seed, task
        self.settings = BuildSettings(information=INFORMATION[information])

    @cached_property
    def base(self) -> RankingJob:
        """The job of the order by relevance, with what was learned on the training topics."""
        source = make_source(self.collection, self.settings, "untrained")
        find_all(self.collection, source)
        policy = make_policy("relevance", self.task)
        return RankingJob(
            Session(self.collection.path), source, policy, full_request(self.task), self.settings, self.seed
        ).learned()

    @cached_property
    def topics(self) -> list[Prepared]:
        """Candidates with vectors of their text, and targets, of the evaluation topics."""
        with_text = replace(self.base, policy=make_policy("mmr")) if self.task == 1 else self.base
        prepared = [with_text.prepare(topic.id) for topic in self.collection.topics if topic.split == "eval"]
        return [topic for topic in prepared if topic is not None]

    def scores(self, name: str) -> dict[str, list[float]]:
        """Measure → one value a topic, and the milliseconds that a topic took."""
        job = replace(self.base, policy=make_policy(name, self.task))
        if wants_learning(job.policy):
            job = job.learned()
        topics = self.topics
        start = time.process_time()
        results = [job.rank_prepared(topic) for topic in topics]
        milliseconds = 1e3 * (time.process_time() - start) / len(topics)
        print(f"seed {self.seed}, Task {self.task}: {name}, {milliseconds:.0f} ms", file=sys.stderr, flush=True)
        measure = list_scores if self.task == 1 else draw_scores
        return {**measure(self.collection, run_from_topics(job, name, results), results), "ms": [milliseconds]}


def list_scores(collection: Collection, run: Run, results: Sequence[TopicRankings]) -> dict[str, list[float]]:
    """nDCG, AWRF and Score of each topic at every depth, and the Score of the track's scorer."""
    del results
    scores: dict[str, list[float]] = {}
    for depth in DEPTHS:
        topics = evaluate(collection, run, "paper-2021", task1_depth=depth, min_tier=0)[run.name].topics.values()
        for measure in ("nDCG", "AWRF", "Score"):
            scores[f"{measure}@{depth}"] = [of_topic[measure] for of_topic in topics]
    official = evaluate(collection, run, "official-2021", min_tier=0)[run.name].topics.values()
    return {**scores, "official": [of_topic["Score"] for of_topic in official]}


def draw_scores(collection: Collection, run: Run, results: Sequence[TopicRankings]) -> dict[str, list[float]]:
    """EE-L, precision and the share of relevant pages ever shown."""
    topics = evaluate(collection, run, "paper-2021", min_tier=0)[run.name].topics.values()
    official = evaluate(collection, run, "official-2021", min_tier=0)[run.name].topics.values()
    relevant = {topic.id: topic.rel_docs for topic in collection.topics}
    return {
        "EE-L": [of_topic["EE-L"] for of_topic in topics],
        "P": [next(value for key, value in of_topic.items() if key.startswith("P")) for of_topic in topics],
        "shown": [float(np.isin(relevant[found.topic_id], found.page_ids).mean()) for found in results],
        "official": [of_topic["EE-L"] for of_topic in official],
    }


def print_lists(scores: Scores) -> None:
    """Score and AWRF by depth, the lead of `optimal` over the best other policy, and what relevance it keeps."""
    n_topics = len(scores["optimal"]["Score@10"])
    print(f"\nTask 1, {n_topics} evaluation topics: Score (AWRF) by depth, paper-2021; Score under official-2021\n")
    rows: list[Sequence[object]] = [["policy", *(f"@{depth}" for depth in DEPTHS), "official", "ms"]]
    for name, of_policy in sorted(scores.items(), key=lambda item: -np.mean(item[1]["Score@10"])):
        cells = [f"{np.mean(of_policy[f'Score@{k}']):.4f} ({np.mean(of_policy[f'AWRF@{k}']):.3f})" for k in DEPTHS]
        rows.append([name, *cells, f"{np.mean(of_policy['official']):.4f}", f"{np.mean(of_policy['ms']):.0f}"])
    print(aligned(rows))
    others = [name for name in scores if name not in ("optimal", ALONE)]
    print("\noptimal against the best other policy, largest p of paired t-tests against all others (Holm):")
    for measure in (*(f"Score@{k}" for k in DEPTHS), "official"):
        best = max(others, key=lambda name: float(np.mean(scores[name][measure])))
        lead = np.mean(scores["optimal"][measure]) / np.mean(scores[best][measure]) - 1.0
        print(f"  {measure}: {lead:+.1%} over {best}, p = {largest_p(scores, others, measure):.1g}")
    for k in DEPTHS:
        highest = max(float(np.mean(scores[name][f"AWRF@{k}"])) for name in others)
        kept = np.mean(scores["optimal"][f"nDCG@{k}"]) / np.mean(scores["relevance"][f"nDCG@{k}"])
        mine = float(np.mean(scores["optimal"][f"AWRF@{k}"]))
        print(f"  @{k}: AWRF {mine:.3f}, highest of the others {highest:.3f}; nDCG kept {kept:.3f}")
    loss = 1.0 - np.mean(scores["optimal"]["Score@1000"]) / np.mean(scores[ALONE]["Score@1000"])
    print(f"  depth 1000: {loss:.2%} below the list made for that depth alone")


def print_draws(scores: Scores, title: str) -> None:
    """EE-L, precision and coverage."""
    print(f"\nTask 2, {title}, {len(scores['optimal']['EE-L'])} evaluation topics\n")
    rows: list[Sequence[object]] = [["policy", "EE-L", "P@50", "relevant shown", "official EE-L", "ms"]]
    for name, of_policy in sorted(scores.items(), key=lambda item: np.mean(item[1]["EE-L"])):
        cells = [f"{np.mean(of_policy[measure]):.3f}" for measure in ("EE-L", "P", "shown", "official")]
        rows.append([name, *cells, f"{np.mean(of_policy['ms']):.0f}"])
    print(aligned(rows))


def largest_p(scores: Scores, others: Sequence[str], measure: str) -> float:
    """The largest p-value of two-sided paired t-tests of `optimal` against each other policy, by Holm's correction."""
    from scipy.stats import ttest_rel

    raw = sorted(float(ttest_rel(scores["optimal"][measure], scores[name][measure]).pvalue) for name in others)
    corrected = np.maximum.accumulate([min(1.0, (len(raw) - place) * p) for place, p in enumerate(raw)])
    return float(corrected[-1])


if __name__ == "__main__":
    main()
