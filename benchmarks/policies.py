"""Every policy on generated collections: scores under two protocols, time per topic, and paired tests.

Evaluation topics are ranked from search; their judgments are used for scoring only. Collections are generated anew for
each seed, and topics of all seeds are pooled for the tests. Times are processor times: run it with
OPENBLAS_NUM_THREADS=1 for those of one core.

    python benchmarks/policies.py [--pages N] [--topics N] [--seeds 1,2,3] [--information geography,gender]
                                  [--model untrained|learned] [--judgments pooled|complete] [--tasks 1,2]

Up to 81 topics have subjects of their own. Beyond that a collection has topics such as "Climate" and "Climate in Asia",
which share their words and none of their relevant pages, and no search can tell them apart.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from evenrank.cli.listing import aligned
from evenrank.core.records import Run, Task, no_pages
from evenrank.policies.registry import POLICIES, make_policy
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.job import RankingJob, full_request
from evenrank.ranking.record import run_from_topics
from evenrank.ranking.sources import SearchSource, Session, search_source
from evenrank.retrieval.model_choice import choose_model
from evenrank.retrieval.relevance import LexicalModel
from evenrank.scoring.evaluate import evaluate
from evenrank.trec.collection import Collection
from policy_collections import JUDGMENTS, make_collection

VARIANTS: dict[str, tuple[Task, ...]] = {
    "mmr:balance=0.3": (1,),
    "proportional:diversifier=pm2": (1, 2),
    "exposure-disparity:learned=true": (1, 2),
    "exposure-disparity:weight=0.5": (1,),
    "deficit:n_windows=0,weight=0.1": (1,),
    "deficit:order=row,n_windows=0": (2,),
    "controller:control=0.92": (2,),
    "plackett-luce:sharpness=2": (2,),
    "fusion:method=combmnz": (1,),
    "optimal:fairness=0.5": (1,),
}
"""Settings beside the defaults: most stand for other rows of the paper, the last is `optimal` with more relevance."""
SERVING: dict[tuple[str, Task], str] = {
    ("official-2021", 1): "optimal:depths=20,depth_weights=1,log_base=2.718281828",
    ("official-2021", 2): "optimal:head_depth=6",
}
"""Settings of `optimal` that serve a scorer with a cut of its own."""
MEASURES: dict[Task, tuple[str, ...]] = {1: ("nDCG", "AWRF", "Score"), 2: ("EE-L", "EE-D", "EE-R", "P")}
MAIN: dict[Task, tuple[str, int]] = {1: ("Score", 1), 2: ("EE-L", -1)}
"""The measure that decides, and the sign of better."""
PROTOCOLS = ("paper-2021", "official-2021")
Scores = dict[str, dict[str, list[float]]]
"""Policy → measure → one value a topic."""


def main() -> None:
    options = read_options()
    scores: dict[tuple[str, Task], Scores] = {(protocol, task): {} for protocol in PROTOCOLS for task in options.tasks}
    seconds: dict[tuple[str, Task], list[float]] = {}
    searching: list[float] = []
    for seed in options.seeds:
        with tempfile.TemporaryDirectory() as folder:
            collection = make_collection(
                Path(folder) / "collection", options.pages, options.topics, seed, options.judgments
            )
            settings = BuildSettings(information=options.information)
            source = make_source(collection, settings, options.model)
            searching += find_all(collection, source)
            for name, job in make_jobs(collection, source, settings, seed, options.tasks):
                run, times = rank_all(name, job)
                seconds.setdefault((name, job.request.task), []).extend(times)
                for protocol in PROTOCOLS:
                    if served(name, job.request.task, protocol):
                        add_scores(scores[protocol, job.request.task], name, collection, run, protocol)
    print(
        f"{options.pages:,} pages, {options.topics} topics, seeds {options.seeds}, known: {options.information}, ",
        end="",
    )
    print(f"relevance: {options.model}, judgments: {options.judgments}")
    for (protocol, task), of_policy in scores.items():
        ours = SERVING.get((protocol, task), "optimal")
        print(f"\n{protocol}, Task {task}\n")
        print(aligned(table(of_policy, task, seconds, ours)))
        if task == 1:
            print(f"\nnDCG of {ours} against relevance: {ndcg_change(of_policy, ours):+.2%}")
    defaults = [float(np.mean(times)) for (name, _), times in seconds.items() if name in POLICIES]
    tasks = "both tasks" if len(options.tasks) > 1 else f"Task {options.tasks[0]}"
    print(f"\n49 topics of {tasks} with every policy of the registry: {49 * sum(defaults):.1f} s of processor time")
    print(f"searching for 49 topics, once for all policies: {49 * np.mean(searching):.1f} s")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=60_000)
    parser.add_argument("--topics", type=int, default=40, help="half of them for training")
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2, 3])
    parser.add_argument("--information", type=lambda text: tuple(text.split(",")), default=("geography", "gender"))
    parser.add_argument("--model", choices=("untrained", "learned"), default="untrained", help="relevance model")
    parser.add_argument("--tasks", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2])
    parser.add_argument("--judgments", choices=JUDGMENTS, default="pooled", help="of the evaluation topics")
    return parser.parse_args()


def make_source(collection: Collection, settings: BuildSettings, model: str) -> SearchSource:
    """The index with its relevance model, trained on the training topics if it is the learned one."""
    if model == "learned":
        from evenrank.retrieval.engine.engines import open_index
        from evenrank.retrieval.features import FeatureExtractor
        from evenrank.retrieval.learn.learned_model import model_path, save
        from evenrank.retrieval.learn.training import train_on_topics

        extractor = FeatureExtractor(LexicalModel(open_index(collection)))
        save(train_on_topics(extractor, collection.topics).state, model_path(collection))
    n_pages = max(settings.n_candidates, full_request(1).length)
    return search_source(collection, n_pages, settings.information, choose_model(collection, model))


def find_all(collection: Collection, source: SearchSource) -> list[float]:
    """Let the source find the pages of all evaluation topics and remember them; seconds for each."""
    seconds = []
    for topic in collection.topics:
        if topic.split == "eval":
            start = time.process_time()
            source.remembered[topic.id] = source.pages(replace(topic, rel_docs=no_pages(), assessed_docs=None))
            seconds.append(time.process_time() - start)
    return seconds


def make_jobs(
    collection: Collection, source: SearchSource, settings: BuildSettings, seed: int, tasks: Sequence[Task]
) -> Iterator[tuple[str, RankingJob]]:
    """Every policy, with its defaults and its variants, for every one of the tasks that it serves."""
    names: list[tuple[str, Task]] = [(name, task) for name, policy in POLICIES.items() for task in policy.tasks]
    names += [(name, task) for name, tasks in VARIANTS.items() for task in tasks]
    names += [(name, task) for (_, task), name in SERVING.items()]
    for name, task in names:
        if task not in tasks:
            continue
        job = RankingJob(
            session=Session(collection.path),
            source=source,
            policy=make_policy(name, task),
            request=full_request(task),
            settings=settings,
            seed=seed,
        )
        yield name, job.learned()


def rank_all(name: str, job: RankingJob) -> tuple[Run, list[float]]:
    """The run on the evaluation topics, and the processor seconds that candidates and policy took on each."""
    results, seconds = [], []
    for topic in job.collection.topics:
        if topic.split == "eval":
            start = time.process_time()
            results.append(job.rank(topic.id))
            seconds.append(time.process_time() - start)
    print(f"{name}, Task {job.request.task}: {np.mean(seconds) * 1e3:.0f} ms a topic", file=sys.stderr)
    return run_from_topics(job, name, results), seconds


def served(name: str, task: Task, protocol: str) -> bool:
    """Settings made for one scorer are not shown under the other."""
    made_for = [key for key, setting in SERVING.items() if setting == name]
    return not made_for or (protocol, task) in made_for


def add_scores(scores: Scores, name: str, collection: Collection, run: Run, protocol: str) -> None:
    """Append the scores of each topic; every topic counts, whatever its tier."""
    result = evaluate(collection, run, protocol, min_tier=0)[name]
    for measure in MEASURES[run.task]:
        values = [of_topic[measure] for of_topic in result.topics.values()]
        scores.setdefault(name, {}).setdefault(measure, []).extend(values)


def table(
    scores: Scores, task: Task, seconds: dict[tuple[str, Task], list[float]], ours: str
) -> list[Sequence[object]]:
    """Best first, with the difference of `ours` to each, and its p-value after Holm's correction."""
    main, sign = MAIN[task]
    order = sorted(scores, key=lambda name: -sign * float(np.mean(scores[name][main])))
    p_values = paired_tests(scores, ours, main)
    lines: list[Sequence[object]] = [["policy", *MEASURES[task], "ms a topic", "optimal ahead by", "p (Holm)"]]
    for name in order:
        means = [f"{np.mean(scores[name][measure]):.4f}" for measure in MEASURES[task]]
        ahead = sign * (np.mean(scores[ours][main]) - np.mean(scores[name][main]))
        milliseconds = f"{np.mean(seconds[name, task]) * 1e3:.1f}"
        tested = [f"{ahead:+.4f}", f"{p_values[name]:.1g}"] if name in p_values else ["", ""]
        lines.append([name, *means, milliseconds, *tested])
    return lines


def ndcg_change(scores: Scores, ours: str) -> float:
    """Relative difference of the mean nDCG."""
    return float(np.mean(scores[ours]["nDCG"]) / np.mean(scores["relevance"]["nDCG"])) - 1.0


def paired_tests(scores: Scores, ours: str, measure: str) -> dict[str, float]:
    """Two-sided paired t-tests of `ours` against every other policy, with Holm's correction."""
    from scipy.stats import ttest_rel

    others = [name for name in scores if scores[name][measure] != scores[ours][measure]]
    raw = {name: float(ttest_rel(scores[ours][measure], scores[name][measure]).pvalue) for name in others}
    corrected, largest = {}, 0.0
    for place, name in enumerate(sorted(raw, key=raw.__getitem__)):
        largest = max(largest, min(1.0, (len(raw) - place) * raw[name]))
        corrected[name] = largest
    return corrected


if __name__ == "__main__":
    main()
