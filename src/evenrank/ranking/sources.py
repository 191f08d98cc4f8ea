"""Where candidates come from: what a source is, the index of a collection as one, and a run that exists already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.exposure import discounts
from evenrank.core.records import Run, Topic, no_pages
from evenrank.progress import track
from evenrank.retrieval.engine.engines import index_folder, open_index
from evenrank.retrieval.engine.protocol import Engine
from evenrank.retrieval.learn.calibration import (
    Calibration,
    CalibrationSettings,
    JudgedScores,
    fit_calibration,
    predict,
    stretch_to_sum,
)
from evenrank.retrieval.learn.judged_count import JudgedRanking, count_matching, judged_ranks
from evenrank.retrieval.learn.learned_model import LearnedModel
from evenrank.retrieval.learn.relevant_count import (
    CountModel,
    RelevantCount,
    count_by_strength,
    estimate_count,
    n_strong,
)
from evenrank.retrieval.learn.training import choose_calibration
from evenrank.retrieval.model_choice import UNTRAINED, ModelChoice
from evenrank.retrieval.query.candidates import CandidateSettings
from evenrank.retrieval.relevance import LexicalModel, RelevanceModel, ScoredPages, SearchSettings, probabilities
from evenrank.retrieval.training_pages import is_training, own_group_counts
from evenrank.trec.collection import Collection
from evenrank.trec.manifest import Manifest


@dataclass(frozen=True)
class Session:
    """A collection and its index, opened when they are first used; every process opens them for itself.

    All of them open the version that the first one has, which keeps it for them, whatever is imported meanwhile.
    """

    path: Path
    """Folder of the collection."""
    version: Manifest | None = field(default=None, compare=False)
    """The version to open; None for the one that the collection has now."""
    engine_kind: object = field(default=None, compare=False)
    """`Collection.engine`."""

    @classmethod
    def of(cls, collection: Collection) -> Session:
        """The session of a collection that is open already."""
        made = cls(collection.path, collection.manifest, collection.engine)
        on_disk = collection if collection.other_topics is None else replace(collection, other_topics=None)
        made.__dict__["collection"] = on_disk
        return made

    @cached_property
    def collection(self) -> Collection:
        return Collection.open(self.path, self.version, engine=self.engine_kind)

    @cached_property
    def engine(self) -> Engine:
        return open_index(self.collection)

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path, "version": self.version, "engine_kind": self.engine_kind}


@dataclass(frozen=True)
class Found:
    """Pages of one topic, best first, without repetition."""

    page_ids: NDArray[np.int32]
    scores: NDArray[np.float64]
    """Higher is better; any scale."""
    relevance: NDArray[np.float64]
    """Probability that the page is relevant."""
    n_relevant: RelevantCount | None = None
    """How many pages of the topic are relevant, found or not, with an 80 % interval; None where nobody estimated it."""

    def __len__(self) -> int:
        return len(self.page_ids)

    def take(self, positions: NDArray[np.integer]) -> Found:
        """Some of the pages, in the order asked for."""
        return Found(self.page_ids[positions], self.scores[positions], self.relevance[positions], self.n_relevant)


CALIBRATION = CalibrationSettings(ridge=1e-3)
"""How scores become probabilities: a line with corners, because the best pages are about equally likely to be relevant.
A straight one gave the first ten 0.98 where 0.73 were, and a list paid for differences that were not there. Little
shrinkage, so that pages far down the list get probabilities near 0."""
CHOICES = tuple(replace(CALIBRATION, prior_strength=strength) for strength in (30.0, 3.0, 0.3, 0.1))
"""How much the share of relevant pages in the training topics counts for another topic, most first. Where scores tell
how many pages of a topic are relevant, as on generated collections, its own share is better estimated from them alone
(0.1), and 40 training topics are enough to show it; on real topics they do not, and the estimate gave ranks 35 to 50
a probability of 0.11 where 0.01 were relevant."""
FEWEST_COUNTED = 8
"""Training topics, all of whose candidates were judged, from which the number of relevant pages is learned."""
LEAST_EXPECTED = 1.0
"""Relevant pages that every topic is expected to have."""
FOLDS_SEED = 0
"""Seed of the division of training topics into folds, on which that is chosen."""
NOTHING = Found(no_pages(), np.empty(0), np.empty(0))


class CandidateSource(Protocol):
    """Finds candidates; it must be possible to send it to another process."""

    def find(self, topic: Topic) -> Found:
        """The candidates of a topic; none when the source knows nothing of it."""
        ...

    def describe(self) -> dict[str, Any]:
        """What the source is and how it came to its probabilities, for the record beside a run."""
        ...


@dataclass(frozen=True)
class Supplemented:
    """A source whose short lists are filled up from another one, below everything the first one found."""

    main: CandidateSource
    supplement: CandidateSource
    n_wanted: int
    """Lists of this length need no supplement."""

    def find(self, topic: Topic) -> Found:
        found = self.main.find(topic)
        return found if len(found) >= self.n_wanted else append(found, self.supplement.find(topic))

    def describe(self) -> dict[str, Any]:
        return {**self.main.describe(), "supplement": self.supplement.describe(), "supplemented_below": self.n_wanted}


def append(found: Found, more: Found) -> Found:
    """The pages of `found`, then the new ones of `more`, none of them more relevant than the last of `found`."""
    if not len(found):
        return more
    new = ~np.isin(more.page_ids, found.page_ids)
    n_new = np.count_nonzero(new)
    return Found(
        np.concatenate([found.page_ids, more.page_ids[new]]),
        np.concatenate([found.scores, found.scores.min() - np.arange(1.0, n_new + 1)]),
        np.concatenate([found.relevance, np.minimum(more.relevance[new], found.relevance.min())]),
        found.n_relevant,
    )


@dataclass(frozen=True)
class SearchSource:
    """A relevance model over the index of a collection; every process opens both for itself."""

    session: Session
    n_pages: int
    """Pages of the plain search; those that the groups need come on top."""
    dimensions: tuple[str, ...]
    """Dimensions whose groups are searched for."""
    group_counts: tuple[tuple[str, int], ...] = ()
    """Number of known groups of those dimensions that are the collection's own."""
    calibration: Calibration | None = None
    """Map from scores to probabilities; None takes those of the model, which are by rank if it is untrained."""
    count: CountModel | None = None
    """How many pages are relevant where so many match strongly; None leaves that to the calibration."""
    choice: ModelChoice = UNTRAINED
    """The relevance model."""
    remembered: Mapping[int, ScoredPages] = field(default_factory=dict, compare=False, repr=False)
    """What was found already, by topic; not sent to other processes."""
    judged: Mapping[int, Mapping[int, bool]] = field(default_factory=dict)
    """Whether pages that people judged are relevant, by topic and page id."""

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "remembered": {}}

    def candidates(self) -> CandidateSettings:
        """How many pages are looked at."""
        return CandidateSettings(self.n_pages, dimensions=self.dimensions, group_counts=self.group_counts)

    def model(self) -> RelevanceModel:
        """The model behind this source."""
        lexical = LexicalModel(self.session.engine, SearchSettings(candidates=self.candidates()))
        return self.choice.open(lexical, index_folder(self.session.collection))

    def find(self, topic: Topic) -> Found:
        pages = self.remembered.get(topic.id) or self.pages(topic)
        if topic.id in self.judged:
            ranking = judged_ranking(self.session.engine, pages, self.judged[topic.id])
            return Found(pages.page_ids, pages.scores, ranking.chances(len(pages)), ranking.estimate())
        if self.calibration is None:
            return Found(pages.page_ids, pages.scores, pages.probabilities, pages.n_relevant)
        relevance, n_relevant = _expected(self.calibration, self.count, pages.scores)
        return Found(pages.page_ids, pages.scores, relevance, n_relevant or pages.n_relevant)

    def pages(self, topic: Topic) -> ScoredPages:
        """The pages of the plain search and of each group, without the features behind their scores."""
        return replace(self.model().score(topic, self.n_pages), features={})

    def describe(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"candidates": "search", "n_pages": self.n_pages, "groups_of": list(self.dimensions)}
        facts["model"] = self.choice.describe()
        if self.judged:
            facts["judged"] = {str(topic): len(pages) for topic, pages in self.judged.items()}
        if self.calibration is None:
            return {**facts, "relevance": "by the model" if self.choice.kind == "learned" else "by rank"}
        return facts | _describe_learned(self.calibration, self.count, "on the training topics")


def judged_ranking(
    engine: Engine, pages: ScoredPages, judged: Mapping[int, bool], project_size: int | None = None
) -> JudgedRanking:
    """What was found for a topic with what people said of some of it, as the ranking of a whole collection."""
    ranks = judged_ranks(pages.page_ids, judged)
    return JudgedRanking(engine.statistics().n_pages, ranks, count_matching(pages.scores), project_size)


Source = TypeVar("Source", bound=SearchSource)


def search_source(
    collection: Collection, n_pages: int, information: tuple[str, ...], choice: ModelChoice = UNTRAINED
) -> SearchSource:
    """The index of a collection as a source, calibrated on its training topics if there are any."""
    dimensions = tuple(name for name in information if name in collection.masks)
    source = SearchSource(Session.of(collection), n_pages, dimensions, own_group_counts(collection), choice=choice)
    return calibrate_source(source, collection.topics)


def calibrate_source(source: Source, topics: Iterable[Topic]) -> Source:
    """A source whose probabilities the training topics support; it remembers what it found for them.

    A learned model scores a topic that it was trained on by the rankers that did not see it, so its scores are as good
    there as on any other topic, and no better.
    """
    training = list(filter(is_training, topics))
    found = {
        topic.id: source.remembered.get(topic.id) or source.pages(topic)
        for topic in track(training, "training topics", len(training), "topic")
    }
    judged = [_judged_scores(topic, found[topic.id].page_ids, found[topic.id].scores) for topic in training]
    samples = [sample for sample in judged if sample.is_judged.any()]
    if not samples:
        return replace(source, remembered=found)
    model = source.model()
    if isinstance(model, LearnedModel):
        calibration = fit_calibration(samples, model.state.calibration.settings)
        return replace(source, calibration=calibration, remembered=found)
    ids = [topic.id for sample, topic in zip(judged, training, strict=True) if sample.is_judged.any()]
    calibration, count = learn_scores(samples, ids)
    return replace(source, calibration=calibration, count=count, remembered=found)


def learn_scores(samples: Sequence[JudgedScores], topic_ids: Sequence[int]) -> tuple[Calibration, CountModel | None]:
    """What training topics say of scores of any scale: how likely a page is relevant, and how many are."""
    calibration = calibrate_scores(samples, topic_ids)
    complete = [at for at, sample in enumerate(samples) if sample.is_judged.all()]
    if len(complete) < FEWEST_COUNTED:
        return calibration, None
    return calibration, count_by_strength(
        [samples[at].scores for at in complete],
        [float(predict(calibration, samples[at].scores).sum()) for at in complete],
        [int(samples[at].is_relevant.sum()) for at in complete],
        [topic_ids[at] for at in complete],
    )


def _expected(
    calibration: Calibration, count: CountModel | None, scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], RelevantCount | None]:
    """The probabilities of a topic's pages, and their number where it is estimated by itself; they then sum to it."""
    relevance = probabilities(calibration, scores)
    if count is None or not len(scores):
        return relevance, None
    n_relevant = estimate_count(count, np.array([n_strong(scores)]))
    return stretch_to_sum(relevance, max(n_relevant.median, LEAST_EXPECTED)), n_relevant


def _describe_learned(calibration: Calibration, count: CountModel | None, where: str) -> dict[str, Any]:
    """What was learned from judged scores, for the record beside a run."""
    facts: dict[str, Any] = {
        "relevance": f"{calibration.settings.method} calibration of scores {where}",
        "coefficients": calibration.coefficients.tolist(),
        "prior_strength": calibration.settings.prior_strength,
    }
    if count is not None:
        facts["n_relevant"] = {"from": "strong matches", "intercept": count.intercept, "slope": count.slope}
    return facts


def calibrate_scores(samples: Sequence[JudgedScores], topic_ids: Sequence[int]) -> Calibration:
    """The calibration of scores of any scale that training topics support."""
    return fit_calibration(samples, choose_calibration(samples, topic_ids, CHOICES, FOLDS_SEED))


def _judged_scores(topic: Topic, pages: NDArray[np.int32], scores: NDArray[np.float64]) -> JudgedScores:
    """What the judgments of a topic say of the pages found."""
    return JudgedScores(scores, np.isin(pages, topic.rel_docs), topic.was_judged(pages))


def pages_of_topic(run: Run, topic_id: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Pages of all rankings of a topic and their scores, best first, each page once.

    Without scores in the file, a page's score is the exposure it has over the rankings.
    """
    rankings = np.flatnonzero(run.topic_ids == topic_id)
    parts = [slice(int(run.starts[index]), int(run.starts[index + 1])) for index in rankings]
    if not parts:
        return NOTHING.page_ids, NOTHING.scores
    listed = np.concatenate([run.pages[part] for part in parts])
    pages, inverse = np.unique(listed, return_inverse=True)
    if run.scores is None:
        weights = np.concatenate([discounts(part.stop - part.start) for part in parts])
        scores = np.bincount(inverse, weights) / len(parts)
    else:
        scores = np.full(len(pages), -np.inf)
        np.maximum.at(scores, inverse, np.concatenate([run.scores[part] for part in parts]))
    first = np.full(len(pages), len(listed))
    np.minimum.at(first, inverse, np.arange(len(listed)))
    order = np.lexsort((first, -scores))
    return pages[order], scores[order]


@dataclass(frozen=True)
class RunSource:
    """The pages of a run."""

    run: Run
    calibration: Calibration | None = None
    """Map from scores to probabilities, learned on training topics; None takes probabilities from ranks."""
    count: CountModel | None = None
    """How many pages are relevant where so many match strongly; None leaves that to the calibration."""

    def find(self, topic: Topic) -> Found:
        pages, scores = pages_of_topic(self.run, topic.id)
        if not len(pages):
            return NOTHING
        if self.calibration is None:
            return Found(pages, scores, probabilities(None, scores))
        return Found(pages, scores, *_expected(self.calibration, self.count, scores))

    def describe(self) -> dict[str, Any]:
        facts = {"candidates": "run", "run": self.run.name}
        if self.calibration is None:
            return {**facts, "relevance": "by rank"}
        return facts | _describe_learned(self.calibration, self.count, "on the training topics in the run")


def calibrate_run(run: Run, topics: Iterable[Topic]) -> RunSource:
    """A run as a source, calibrated on the training topics that it answers, if there are any."""
    samples, topic_ids = [], []
    for topic in topics:
        if topic.split == "train" and len(topic.rel_docs):
            sample = _judged_scores(topic, *pages_of_topic(run, topic.id))
            if sample.is_judged.any():
                samples.append(sample)
                topic_ids.append(topic.id)
    return RunSource(run, *learn_scores(samples, topic_ids)) if samples else RunSource(run)
