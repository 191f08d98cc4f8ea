"""What people get to see: lists by how far they read, and draws by how many relevant pages are ever shown.

Task 1 under `paper-2021` at depths 10 to 1000 and under `official-2021`; Task 2 with all groups known, and with gender
unknown to the systems and known to the scorer. Collections are generated for each seed; evaluation topics of all seeds
are pooled for paired tests. Times are processor times: run it with OPENBLAS_NUM_THREADS=1 for those of one core.

    python benchmarks/people.py [--pages N] [--topics N] [--seeds 31,32,33] [--judgments pooled|complete] [--tasks 1,2]
                                [--save FILE] [--read FILE]...

`--save` keeps the scores of every topic, and `--read` adds those of earlier runs, so that seeds can be run one by one.
Seeds 11 (pooled) and 12 (complete) were used to choose the default settings of `optimal`; the default ones were not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from evenrank.cli.listing import aligned
from evenrank.collection.collection import Collection
from evenrank.evaluation.evaluate import evaluate
from evenrank.policies.registry import make_policy
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.job import Prepared, RankingJob, TopicRankings, full_request
from evenrank.ranking.record import run_from_topics
from evenrank.records import Task
from policies import find_all, make_source
from policy_collections import JUDGMENTS, make_collection

DEPTHS = (10, 20, 50, 100, 1000)
LISTS = (
    *("optimal", "optimal:depths=1000,depth_weights=1", "relevance", "deficit", "deficit:n_windows=0,weight=0.1"),
    *("proportional", "proportional:diversifier=pm2", "relevance-share", "exposure-disparity", "fusion", "swap"),
    *("filter", "union", "fa-ir", "det-const-sort", "epsilon-greedy", "best-of"),
)
ALONE = "optimal:depths=1000,depth_weights=1"
"""The same solver for the end of the list alone, which no other policy is compared with."""
DRAWS = (
    *("optimal", "optimal:spread=0,include_above=2", "relevance", "plackett-luce", "plackett-luce:balance=0.7"),
    *("controller", "deficit", "proportional", "exposure-disparity", "epsilon-greedy", "exposure-lp"),
)
CURVE = tuple(f"optimal:fairness={weight}" for weight in (0.1, 0.3, 0.5, 2, 4))
"""Weights of fairness along which the curve of EE-L against precision is drawn."""
INFORMATION = {"known": ("geography", "gender"), "unknown": ("geography",)}
Scores = dict[str, dict[str, list[float]]]
"""Policy → measure → one value a topic."""


def main() -> None:
    options = read_options()
    lists: Scores = defaultdict(lambda: defaultdict(list))
    draws: dict[str, Scores] = {name: defaultdict(lambda: defaultdict(list)) for name in INFORMATION}
    for seed in options.seeds:
        with tempfile.TemporaryDirectory() as folder:
            collection = make_collection(Path(folder) / "c", options.pages, options.topics, seed, options.judgments)
            print(f"seed {seed}: collection made", file=sys.stderr, flush=True)
            if 1 in options.tasks:
                add_lists(lists, collection, seed)
            if 2 in options.tasks:
                for name in INFORMATION:
                    add_draws(draws[name], collection, seed, name)
    if options.save:
        options.save.write_text(json.dumps({"seeds": options.seeds, "lists": lists, "draws": draws}))
    seeds = [*options.seeds]
    for path in options.read:
        saved = json.loads(path.read_text())
        seeds += saved["seeds"]
        add_saved(lists, saved["lists"])
        for name in INFORMATION:
            add_saved(draws[name], saved["draws"][name])
    print(f"{options.pages:,} pages, seeds {sorted(seeds)}, {options.judgments} judgments of evaluation topics")
    if lists:
        print_lists(lists)
    for name, scores in draws.items():
        if scores:
            print_draws(scores, f"all groups {name}" if name == "known" else "gender unknown to the systems")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=30_000)
    parser.add_argument("--topics", type=int, default=80, help="half of them for training")
    parser.add_argument(
        "--seeds", type=lambda text: [int(part) for part in text.split(",") if part], default=[31, 32, 33]
    )
    parser.add_argument("--judgments", choices=JUDGMENTS, default="pooled", help="of the evaluation topics")
    parser.add_argument("--tasks", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2])
    parser.add_argument("--save", type=Path, help="keep the scores of every topic in this file")
    parser.add_argument("--read", type=Path, action="append", default=[], help="add the scores of an earlier run")
    return parser.parse_args()


def add_saved(scores: Scores, saved: Scores) -> None:
    """Append the scores of an earlier run."""
    for name, of_policy in saved.items():
        for measure, values in of_policy.items():
            scores[name][measure] += values


def rank_all(
    collection: Collection, seed: int, task: Task, settings: BuildSettings, names: Sequence[str]
) -> Iterator[tuple[str, RankingJob, list[TopicRankings], float]]:
    """(policy, job, rankings, milliseconds a topic); candidates and targets are made once for all policies."""
    source = make_source(collection, settings, "untrained")
    find_all(collection, source)
    request = full_request(task)
    base = RankingJob(collection.path, source, make_policy("relevance", task), request, settings, seed).learned()
    prepared = [base.prepare(topic.id) for topic in collection.topics if topic.split == "eval"]
    topics: list[Prepared] = [topic for topic in prepared if topic is not None]
    for name in names:
        job = RankingJob(collection.path, source, make_policy(name, task), request, base.settings, seed)
        start = time.process_time()
        results = [job.rank_prepared(topic) for topic in topics]
        yield name, job, results, 1e3 * (time.process_time() - start) / len(topics)


def add_lists(scores: Scores, collection: Collection, seed: int) -> None:
    """Append nDCG, AWRF and Score of each topic at every depth, and the Score of the track's scorer."""
    for name, job, results, milliseconds in rank_all(collection, seed, 1, BuildSettings(), LISTS):
        run = run_from_topics(job, name, results)
        for depth in DEPTHS:
            topics = evaluate(collection, run, "paper-2021", task1_depth=depth, min_tier=0)[name].topics.values()
            for measure in ("nDCG", "AWRF", "Score"):
                scores[name][f"{measure}@{depth}"] += [of_topic[measure] for of_topic in topics]
        official = evaluate(collection, run, "official-2021", min_tier=0)[name].topics.values()
        scores[name]["official"] += [of_topic["Score"] for of_topic in official]
        scores[name]["ms"] += [milliseconds]


def add_draws(scores: Scores, collection: Collection, seed: int, information: str) -> None:
    """Append EE-L, precision and the share of relevant pages ever shown."""
    settings = BuildSettings(information=INFORMATION[information])
    for name, job, results, milliseconds in rank_all(collection, seed, 2, settings, (*DRAWS, *CURVE)):
        run = run_from_topics(job, name, results)
        topics = evaluate(collection, run, "paper-2021", min_tier=0)[name].topics.values()
        scores[name]["EE-L"] += [of_topic["EE-L"] for of_topic in topics]
        scores[name]["P"] += [next(value for key, value in t.items() if key.startswith("P")) for t in topics]
        relevant = {topic.id: topic.rel_docs for topic in collection.topics}
        scores[name]["shown"] += [float(np.isin(relevant[r.topic_id], r.page_ids).mean()) for r in results]
        official = evaluate(collection, run, "official-2021", min_tier=0)[name].topics.values()
        scores[name]["official"] += [of_topic["EE-L"] for of_topic in official]
        scores[name]["ms"] += [milliseconds]


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
