"""What not knowing costs: systems built without an attribute, or with a faulty one, and scored with the truth.

The track's participants had no gender; the scorer did. Each policy ranks the evaluation topics of a collection with the
attribute known, masked, undisclosed for a share of the pages, or wrong for a share of them. The scorer always knows.

    python benchmarks/information.py DIR [--hidden gender] [--rates 0.2,0.5] [--policies optimal,controller] [--task 2]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from evenrank.alignment.groups import UNKNOWN_MASK
from evenrank.cli.listing import aligned
from evenrank.collection.collection import Collection
from evenrank.evaluation.evaluate import evaluate
from evenrank.policies.registry import make_policy
from evenrank.ranking.build import BuildSettings, build
from evenrank.ranking.job import Prepared, RankingJob, full_request
from evenrank.ranking.record import run_of
from evenrank.records import Task
from evenrank.rng import derive
from policies import find_all, make_source

KNOWN = ("geography", "gender")
MEASURE: dict[Task, str] = {1: "Score", 2: "EE-L"}
Masks = Mapping[str, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="a collection with an index and evaluation topics")
    parser.add_argument("--hidden", choices=KNOWN, default="gender")
    parser.add_argument("--rates", type=lambda text: [float(part) for part in text.split(",")], default=[0.2, 0.5])
    parser.add_argument("--policies", default="optimal,plackett-luce,controller,deficit,relevance")
    parser.add_argument("--task", type=int, choices=(1, 2), default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    collection = Collection.open(options.folder)
    source = make_source(collection, BuildSettings(), "untrained")
    find_all(collection, source)
    conditions = dict(conditions_of(collection, options.hidden, options.rates, options.seed))
    names = options.policies.split(",")
    costs: dict[str, list[float]] = {name: [] for name in names}
    for masks, settings in conditions.values():
        for name in names:
            costs[name].append(score(collection, masks, source, name, options.task, settings, options.seed))
    measure = MEASURE[options.task]
    print(f"{options.folder}, Task {options.task}: {measure} under paper-2021, {options.hidden} …\n")
    rows = [["policy", *conditions], *([name, *(f"{value:.3f}" for value in costs[name])] for name in names)]
    print(aligned(rows))


def conditions_of(
    collection: Collection, hidden: str, rates: list[float], seed: int
) -> Iterator[tuple[str, tuple[Masks, BuildSettings]]]:
    """(name, (what the system sees of the pages, settings)) of each condition."""
    everything = BuildSettings()
    others = tuple(name for name in KNOWN if name != hidden)
    yield "known", (collection.masks, everything)
    yield "masked", (collection.masks, BuildSettings(information=others))
    truth = np.asarray(collection.masks[hidden])
    for rate in rates:
        rng = derive(seed, "information", str(rate))
        is_hit = rng.random(len(truth)) < rate
        undisclosed = np.where(is_hit, truth.dtype.type(UNKNOWN_MASK), truth)
        yield f"undisclosed {rate:.0%}", ({**collection.masks, hidden: undisclosed}, everything)
        noisy = np.where(is_hit, truth[rng.permutation(len(truth))], truth)
        yield f"wrong {rate:.0%}", ({**collection.masks, hidden: noisy}, everything)


def score(
    collection: Collection, masks: Masks, source: object, name: str, task: Task, settings: BuildSettings, seed: int
) -> float:
    """The mean score of a policy that sees these masks."""
    seen = replace(collection, masks=masks)
    base = RankingJob(collection.path, source, make_policy(name, task), full_request(task), settings, seed)  # type: ignore[arg-type]
    job = base.learned()
    results = []
    for topic in collection.topics:
        if topic.split == "eval":
            found = job._found(topic)
            if len(found):
                results.append(job.rank_prepared(Prepared(*build(seen, topic.id, task, found, job.settings))))
    topics = evaluate(collection, run_of(job, name, results), "paper-2021", min_tier=0)[name].topics.values()
    return float(np.mean([of_topic[MEASURE[task]] for of_topic in topics]))


if __name__ == "__main__":
    main()
