"""What people get to see on the 57 real training topics with real articles: the tables of `people.py`, both tasks.

    python benchmarks/real_topics.py DIR [--tasks 1,2]

DIR is a collection of `../shared/data/wikipedia-sample` with an index. A topic is judged up to a page id, with about
seven relevant pages and 100 to 29,000 articles in that window, so candidates are found in the window alone, also those
of the topics that are learned from: a rank among 1,700 articles says another thing than one among 63,576. Every second
topic is ranked with what was learned on the others, and then the other way round. These topics are no fresh test: some
were looked at when search and its calibration were made, and settings of `optimal` were chosen with their scores in
view. Groups and quality classes of the articles are guessed from their text, because the sample has no metadata. With
seven relevant pages a true target is coarse: differences between policies are noisy, and P@50 cannot exceed 0.14. How
much of what is missing comes from not knowing the target is shown beside: `optimal` with the target of the judgments,
which no system can know.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from evenrank.core.records import Task, Topic, no_pages
from evenrank.core.target import EstimatedTarget
from evenrank.policies.registry import make_policy
from evenrank.ranking.build import make_candidates, target_of
from evenrank.ranking.job import Prepared, RankingJob, full_request
from evenrank.ranking.sources import Found, Session, learn_scores
from evenrank.retrieval.learn.calibration import JudgedScores
from evenrank.trec.collection import Collection
from people import ALONE, CURVE, DEPTHS, DRAWS, LISTS, Part, Scores, joined, print_draws, print_lists
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
        calibration, count = learn_scores(seen, [topic.id for topic in training])
        source = replace(source, calibration=calibration, count=count, remembered=remembered)
        job = RankingJob(
            session=Session(self.collection.path),
            source=source,
            policy=make_policy("relevance", self.task),
            request=full_request(self.task),
            settings=self.settings,
            seed=self.seed,
            shown=self.collection,
        )
        return job.learned()


class TruePart(WindowPart):
    """The same topics with the targets that their judgments give: what no system can know."""

    @cached_property
    def topics(self) -> list[Prepared]:
        return [topic._replace(target=self._true_target(topic)) for topic in super().topics]

    def _true_target(self, topic: Prepared) -> EstimatedTarget:
        relevant = self.collection.topic_by_id[topic.candidates.topic_id].rel_docs
        certain = np.ones(len(relevant))
        space, found = topic.target.space, Found(relevant, certain, certain)
        judged = make_candidates(self.collection, topic.candidates.topic_id, found, space, self.settings.divided)
        return target_of(judged, self.task, space, replace(self.settings, sharpness=1.0, group_odds="none"))


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
        scores = scores_of(folds, 1, "known", LISTS)
        print_lists(scores)
        print_with_true_target(folds, scores)
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


def print_with_true_target(folds: Sequence[Collection], scores: Scores) -> None:
    """Score and AWRF of `optimal` if it knew the target of each topic, and its lead over what the others have."""
    known = joined([{"optimal": TruePart(fold, 0, 1, "known").scores("optimal")} for fold in folds])["optimal"]
    print("\noptimal with the target that the judgments give, against the best other policy, which estimates it:")
    for depth in DEPTHS:
        measure = f"Score@{depth}"
        best = max(float(np.mean(scores[name][measure])) for name in LISTS if name not in ("optimal", ALONE))
        score = float(np.mean(known[measure]))
        print(f"  {measure}: {score:.3f} ({np.mean(known[f'AWRF@{depth}']):.3f}), {score / best - 1.0:+.1%}")


if __name__ == "__main__":
    main()
