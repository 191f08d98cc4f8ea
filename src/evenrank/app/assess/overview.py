"""The state of the whole work in the numbers that the organiser's page shows."""

from __future__ import annotations

from dataclasses import dataclass, fields

from evenrank.app.assess.judging import Judging
from evenrank.trec.assessment.agreement import Bootstrap, Estimate, adjudication_queue, graded_pages, overall_agreement
from evenrank.trec.assessment.coverage import Pace, TierCoverage, coverage, max_tiers, pace
from evenrank.trec.assessment.files import count_left_out
from evenrank.trec.assessment.queues import TopicProgress, assessor_progress
from evenrank.trec.assessment.votes import current_votes

STATES = tuple(field.name for field in fields(TierCoverage) if field.name.startswith("n_"))
"""Names of the counts of a tier, in the order of the bars."""


@dataclass(frozen=True)
class Overview:
    """Coverage, pace, agreement and remaining work at one moment."""

    tiers: list[TierCoverage]
    deepest: dict[int, int]
    """Topic → deepest tier that is complete with all before it."""
    paces: list[Pace]
    progress: dict[str, list[TopicProgress]]
    """Assessor → topic by topic."""
    n_shared: int
    """Pages that at least two assessors graded."""
    alpha: Estimate
    """Krippendorff's α on them."""
    n_unsettled: int
    """Disagreements that nothing decides yet."""
    undecided: dict[str, int]
    """Pages with votes that no export has as judged, by reason."""

    @property
    def total(self) -> TierCoverage:
        """All tiers of all topics together."""
        return TierCoverage(0, 0, *(sum(getattr(tier, name) for tier in self.tiers) for name in STATES))

    @property
    def n_open_votes(self) -> int:
        """Assigned pages that still wait for their assessor."""
        return sum(pace.n_open for pace in self.paces)

    @property
    def hours_left(self) -> float | None:
        """Projected hours of all assessors together; who has no pace yet counts at the mean pace of the others."""
        known = [pace.median_seconds for pace in self.paces if pace.median_seconds is not None]
        if not known:
            return None
        usual = sum(known) / len(known)
        return sum(pace.n_open * (pace.median_seconds or usual) for pace in self.paces) / 3600


def overview(judging: Judging) -> Overview:
    """The state of the work now."""
    store = judging.store
    with store.snapshot():
        paces = pace(store)
        n_shared, alpha = overall_agreement(graded_pages(current_votes(store)), Bootstrap())
        return Overview(
            tiers=coverage(store),
            deepest=max_tiers(store),
            paces=paces,
            progress={entry.assessor: assessor_progress(store, entry.assessor) for entry in paces},
            n_shared=n_shared,
            alpha=alpha,
            n_unsettled=len(adjudication_queue(store)),
            undecided=dict(count_left_out(store)),
        )
