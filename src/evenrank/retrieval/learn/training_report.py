"""How good a learned model is on topics that it did not see, and what its features add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenrank.core.types import Floats
from evenrank.retrieval.learn.calibration import reliability_bins
from evenrank.retrieval.learn.training import Trained, TrainingExample, held_out_probabilities


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
    """Expected calibration error over all candidates."""
    count_error: float
    """Median over topics of how far the estimated number of relevant pages is off, as a factor minus 1."""
    ridges: tuple[float, ...]
    """How strongly the slopes of each fold were drawn to the untrained weights."""
    contributions: dict[str, float]
    """Mean size of what each feature adds to a score, in log-odds, largest first."""

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
    bins = reliability_bins(np.concatenate(given), np.concatenate([example.labels for example in examples]))
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
