"""`evenrank.learn`: a relevance model from the training topics of a collection, saved and reported on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evenrank.core.records import Topic
from evenrank.core.settings import parse_settings
from evenrank.core.types import FilePath, Floats
from evenrank.errors import EvenrankError
from evenrank.retrieval.encode.encoder import EncoderSettings
from evenrank.retrieval.engine.engines import index_folder, open_index
from evenrank.retrieval.features import FeatureExtractor
from evenrank.retrieval.learn.calibration import reliability_bins
from evenrank.retrieval.learn.cross_validation import LearningSettings
from evenrank.retrieval.learn.learned_model import model_fingerprint, model_path, save
from evenrank.retrieval.learn.training import (
    Trained,
    TrainingExample,
    check_settings,
    held_out_probabilities,
    train_on_topics,
)
from evenrank.retrieval.model_choice import index_encoders, open_dense, open_reader, use_encoder
from evenrank.retrieval.relevance import LexicalModel
from evenrank.trec.collection import Collection, as_collection


@dataclass(frozen=True)
class Quality:
    """Means over topics."""

    precision_at_10: float
    r_precision: float
    """Share of relevant pages among the first R, where R is the number of relevant pages of the topic."""


@dataclass(frozen=True)
class ModelComparison:
    """The learned model and the same model before it learned, on the same topics in the same form."""

    form: str
    """Which keywords the topics have."""
    learned: Quality
    untrained: Quality
    gain: float
    """Mean gain in R-precision."""
    gain_error: float
    """Standard error of the gain over topics."""


@dataclass(frozen=True)
class TrainingReport:
    """Leave-topics-out numbers: no topic is judged by a line, or by a calibration, that saw it."""

    n_topics: int
    learned: Quality
    untrained: Quality
    comparisons: tuple[ModelComparison, ...]
    """Topics as they are, and with keywords dropped."""
    calibration_error: float
    """Expected calibration error over all candidates; with a tagging rate below 1, of the probability of a tag."""
    count_error: float
    """Median over topics of how far the estimated number of relevant pages is off, as a factor minus 1."""
    ridges: tuple[float, ...]
    """How strongly the slopes of each fold were drawn to the untrained weights."""
    contributions: dict[str, float]
    """Mean size of what each feature adds to a score, in log-odds, largest first."""
    tagging_rate: float = 1.0
    """Share of the relevant pages that the training topics list; below 1, P@10 and R-precision count listed pages."""

    @property
    def verdict(self) -> str:
        """What learning added, in words."""
        helps = [c.form for c in self.comparisons if c.gain > 2.0 * c.gain_error]
        hurts = [c.form for c in self.comparisons if c.gain < -2.0 * c.gain_error]
        if helps and not hurts:
            return f"learning adds to the untrained model on topics {' and '.join(helps)}"
        if hurts:
            return f"learning makes the order worse on topics {' and '.join(hurts)}: use the untrained model"
        return "learning adds nothing to the order that these topics could show; it does give calibrated probabilities"


def training_summary(trained: Trained) -> TrainingReport:
    """The numbers of a training."""
    examples, scores = trained.examples, trained.scores()
    state = trained.state
    given = held_out_probabilities(examples, scores, state.settings.seed, state.calibration.settings)
    tagged = state.settings.tagging_rate * np.concatenate(given)
    bins = reliability_bins(tagged, np.concatenate([example.labels for example in examples]))
    comparisons = [
        compare_models(form, [(e, s) for e, s in zip(examples, scores, strict=True) if e.is_as_given == is_as_given])
        for form, is_as_given in (("as given", True), ("with keywords dropped", False))
    ]
    known = [comparison for comparison in comparisons if comparison is not None]
    return TrainingReport(
        n_topics=len({example.topic_id for example in examples}),
        learned=known[0].learned,
        untrained=known[0].untrained,
        comparisons=tuple(known),
        calibration_error=bins.expected_calibration_error,
        count_error=float(np.expm1(np.median(np.abs(trained.state.count.residuals)))),
        ridges=tuple(fold.ridge for fold in trained.state.cross_fit.folds),
        contributions=contributions(trained),
        tagging_rate=state.settings.tagging_rate,
    )


def compare_models(form: str, scored: Sequence[tuple[TrainingExample, Floats]]) -> ModelComparison | None:
    """Learned against untrained on some examples; None without any."""
    if not scored:
        return None
    examples = [example for example, _ in scored]
    learned = topic_quality(examples, [scores for _, scores in scored])
    untrained = topic_quality(examples, [example.untrained_scores() for example in examples])
    gains = (learned - untrained)[:, 1]
    topics = np.array([example.topic_id for example in examples])
    by_topic = np.array([gains[topics == topic].mean() for topic in np.unique(topics)])
    error = float(by_topic.std(ddof=1) / np.sqrt(len(by_topic))) if len(by_topic) > 1 else 0.0
    means = [Quality(*(float(value) for value in table.mean(axis=0))) for table in (learned, untrained)]
    return ModelComparison(form, means[0], means[1], float(by_topic.mean()), error)


def topic_quality(examples: Sequence[TrainingExample], scores: Sequence[Floats]) -> Floats:
    """Topic by (P@10, R-precision) of candidates that are ordered by scores, ties in the order of words."""
    rows = []
    for example, of_topic in zip(examples, scores, strict=True):
        labels = example.labels[np.argsort(-of_topic, kind="stable")]
        rows.append([labels[:10].sum() / 10, labels[: example.n_relevant].sum() / example.n_relevant])
    return np.array(rows, np.float64)


def contributions(trained: Trained) -> dict[str, float]:
    """Mean size of what each feature adds to a score, on pages of topics that the lines did not see."""
    parts = [trained.state.cross_fit.contributions(example.topic_id, example.features) for example in trained.examples]
    means = {name: float(np.mean([np.abs(part[name]).mean() for part in parts])) for name in parts[0] if name != "base"}
    return dict(sorted(means.items(), key=lambda item: (-item[1], item[0])))


@dataclass(frozen=True)
class Learned:
    """A saved relevance model, and how good it is on topics that it did not see."""

    path: Path
    fingerprint: str
    """Identifies the content of the file."""
    report: TrainingReport
    cost: str = ""
    """What encoding the texts cost; empty without text vectors."""


def learn(
    collection: Collection | FilePath,
    output: FilePath | None = None,
    *,
    dense: bool = False,
    cross: bool = False,
    encoder: EncoderSettings | None = None,
    settings: Mapping[str, str] | None = None,
    marked: Sequence[Topic] = (),
    tagging_rate: float | None = None,
    seed: int = 0,
) -> Learned:
    """Train a relevance model on the training topics of a collection, which needs an index.

    It is saved to `output`, by default to the collection's folder, where `model="learned"` finds it. `dense` adds text
    vectors (implied by an `encoder`), `cross` a cross-encoder as well. `settings` are those of
    `LearningSettings`, by name. `marked` are further topics of which people marked some pages (`assessed_docs`); of
    them only these are learned from, and the report is on the collection's own topics. `tagging_rate` is the share of
    the relevant pages that the topics' lists have, where untagged is not irrelevant (`estimate_tagging_rate`); by
    default lists are complete.
    """
    opened = as_collection(collection)
    path = model_path(opened) if output is None else Path(output)
    has_vectors = dense or cross or encoder is not None
    chosen = learning_settings(settings or {}, seed)
    if tagging_rate is not None:
        chosen = replace(chosen, tagging_rate=tagging_rate)
        check_settings(chosen)
    if marked and chosen.tagging_rate < 1.0:
        raise EvenrankError("marks say what is relevant, a tagging rate that nobody said it: use one of the two")
    extractor = open_extractor(opened, encoder, has_vectors, cross)
    trained = train_on_topics(extractor, opened.topics, chosen, marked)
    found = training_summary(trained)
    save(trained.state, path)
    cost = "\n".join(str(scorer.cost) for scorer in (extractor.dense, extractor.second) if scorer is not None)
    return Learned(path, model_fingerprint(path), found, cost)


def learning_settings(texts: Mapping[str, str], seed: int) -> LearningSettings:
    """The settings of learning that the texts describe."""
    if "seed" in texts:
        raise EvenrankError("the seed is not among these settings (give it as --seed, or as seed=)")
    chosen = replace(LearningSettings(), **parse_settings(LearningSettings, texts), seed=seed)
    check_settings(chosen)
    return chosen


def open_extractor(
    collection: Collection, encoder: EncoderSettings | None, has_vectors: bool, has_cross: bool
) -> FeatureExtractor:
    """What computes the features of pages, with text vectors and a cross-encoder if they are wanted."""
    engine = open_index(collection)
    if not has_vectors:
        return FeatureExtractor(LexicalModel(engine))
    folder = index_folder(collection)
    used = [use_encoder(settings).settings for settings in index_encoders(folder, encoder)]
    dense, *second = (open_dense(engine, settings, folder) for settings in used)
    reader = open_reader(engine, folder, used[0].device) if has_cross else None
    return FeatureExtractor(LexicalModel(engine), dense, reader, second[0] if second else None)
