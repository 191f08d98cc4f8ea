"""What people get to see on the 57 real training topics with real articles: the tables of `people.py`, both tasks.

    python benchmarks/real_topics.py DIR [--tasks 1,2]

DIR is a collection of `../shared/data/wikipedia-sample` with an index. A topic is judged up to a page id, with about
seven relevant pages and 100 to 29,000 articles in that window, so candidates are found in the window alone, also those
of the topics that are learned from: a rank among 1,700 articles says another thing than one among 63,576. Every second
topic is ranked with what was learned on the others, and then the other way round; none was used to choose a setting of
a policy, and some were looked at when search and its calibration were made. With seven relevant pages a true target is
coarse: differences between policies are noisy, and P@50 cannot exceed 0.14.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from evenrank.collection.collection import Collection
from evenrank.policies.registry import make_policy
from evenrank.ranking.job import RankingJob, full_request
from evenrank.ranking.sources import calibrate_scores
from evenrank.records import Task, Topic, no_pages
from evenrank.search.learn.calibration import JudgedScores
from people import CURVE, DRAWS, LISTS, Part, Scores, joined, print_draws, print_lists
from policies import make_source


class WindowPart(Part):
    """A task on real topics, half of them held out and ranked inside their judged windows."""

    @cached_property
    def base(self) -> RankingJob:
        source = make_source(self.collection, self.settings, "untrained")
        model = source.model()
        remembered = {
            topic.id: replace(model.score(_question(topic), source.n_pages, _window_end(topic)), features={})
            for topic in self.collection.topics
        }
        training = [topic for topic in self.collection.topics if topic.split == "train"]
        seen = [
            JudgedScores.complete(found.scores, np.isin(found.page_ids, topic.rel_docs))
            for topic in training
            for found in [remembered[topic.id]]
        ]
        calibration = calibrate_scores(seen, [topic.id for topic in training])
        source = replace(source, calibration=calibration, remembered=remembered)
        job = RankingJob(
            collection_path=self.collection.path,
            source=source,
            policy=make_policy("relevance", self.task),
            request=full_request(self.task),
            settings=self.settings,
            seed=self.seed,
            shown=self.collection,
        )
        return job.learned()


def _question(topic: Topic) -> Topic:
    """A topic as search sees it, without what is known of it."""
    return replace(topic, rel_docs=no_pages(), assessed_docs=None)


def _window_end(topic: Topic) -> int | None:
    """The last page id of the judged window."""
    return None if topic.assessed_docs is None else int(topic.assessed_docs.max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--tasks", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2])
    options = parser.parse_args()
    collection = Collection.open(options.folder)
    folds = [held_out(collection, remainder) for remainder in (0, 1)]
    sizes = [int(topic.was_judged(collection.page_ids).sum()) for topic in collection.topics]
    print(f"{len(sizes)} real topics, {np.median(sizes):.0f} articles in a window (median)")
    if 1 in options.tasks:
        print_lists(scores_of(folds, 1, "known", LISTS))
    if 2 in options.tasks:
        print_draws(scores_of(folds, 2, "known", (*DRAWS, *CURVE)), "all groups known")
        print_draws(scores_of(folds, 2, "unknown", (*DRAWS, *CURVE)), "gender unknown to the systems")


def held_out(collection: Collection, remainder: int) -> Collection:
    """The collection with every second topic for evaluation."""

    def split(place: int, topic: Topic) -> Topic:
        return replace(topic, split="eval") if place % 2 == remainder else topic

    topics = [topic for topic in collection.topics if len(topic.rel_docs)]
    return replace(collection, other_topics=tuple(split(place, topic) for place, topic in enumerate(topics)))


def scores_of(folds: Sequence[Collection], task: Task, information: str, names: Sequence[str]) -> Scores:
    """Scores of every policy on all topics, each ranked while it was held out."""
    parts = [WindowPart(fold, 0, task, information) for fold in folds]
    return joined([{name: part.scores(name) for name in names} for part in parts])


if __name__ == "__main__":
    main()
