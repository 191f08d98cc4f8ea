"""One call of `score`, its inputs read: the measures of every query and system, and notes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError
from evenrank.items.fairness import Fairness
from evenrank.items.groupings import Groupings
from evenrank.items.ranked_items import RankedItems
from evenrank.items.relevance import RelevantItems
from evenrank.items.scored_rows import Ints, ScoredRows
from evenrank.items.scores import GroupShare, ItemScores, QueryScores, SystemScores
from evenrank.items.wanted import GroupTarget


@dataclass
class Scoring:
    """One call of `score`, its inputs read."""

    view: ScoredRows
    ranked: RankedItems
    groupings: Groupings | None
    relevance: RelevantItems | None
    targets: list[GroupTarget] | None
    measures: list[str]
    n_items: int

    def results(self) -> ItemScores:
        columns: dict[str, Floats] = {}
        is_scored = np.ones(len(self.view.query), bool)
        notes = [*self.ranked.notes, *(self.groupings.notes() if self.groupings is not None else ())]
        if self.relevance is not None:
            columns |= self._relevance()
            self._note_strangers(notes)
            is_scored &= self._note_unjudged(notes)
        shares: list[GroupShare] = []
        if self.groupings is not None and self.targets is not None:
            fair = Fairness(self.view, self.groupings, self.targets, is_scored)
            columns |= fair.columns
            self._note(notes, ~fair.has_target & is_scored, "queries without a target, left out")
            is_scored &= fair.has_target
            shares = fair.shares(self.ranked.systems)
            self._note_unknown(notes, fair.joint)
        if "nDCG" in columns and "AWRF" in columns:
            columns["Score"] = columns["nDCG"] * columns["AWRF"]
        if not is_scored.any():
            raise EvenrankError(f"nothing can be scored: {'; '.join(notes)}")
        extra = [name for name in columns if name.startswith("AWRF[")]
        shown = [*self.measures, *(extra if "AWRF" in self.measures else [])]
        return ItemScores(tuple(self._systems(columns, shown, is_scored)), tuple(shown), tuple(shares), tuple(notes))

    def _systems(
        self, columns: dict[str, Floats], shown: list[str], is_scored: NDArray[np.bool_]
    ) -> list[SystemScores]:
        names = self.ranked.queries.names
        found = []
        for number, system in enumerate(self.ranked.systems):
            rows = np.flatnonzero((self.view.system == number) & is_scored)
            by_query = QueryScores(names, self.view.query[rows], {name: columns[name][rows] for name in shown})
            means = {name: float(columns[name][rows].mean()) if len(rows) else float("nan") for name in shown}
            found.append(SystemScores(system, means, by_query))
        return found

    def _relevance(self) -> dict[str, Floats]:
        """nDCG with linear gains and the chosen attention; P counts items with a grade above 0."""
        assert self.relevance is not None
        view = self.view
        n_pairs = len(view.query)
        grades = self.relevance.of(view.query[view.pair], view.item, self.n_items)
        gained = np.bincount(view.pair, grades * view.weights[view.rank], minlength=n_pairs) / view.n_rankings
        ideal = self._ideal_gain()
        hits = np.bincount(view.pair, grades > 0.0, minlength=n_pairs) / view.n_rankings
        return {
            "nDCG": np.divide(gained, ideal, out=np.zeros(n_pairs), where=ideal > 0.0),
            "P": hits / np.maximum(view.depth, 1),
        }

    def _ideal_gain(self) -> Floats:
        """Discounted gain of the ranking by grade, as deep as the scored ranking of each pair."""
        assert self.relevance is not None
        judged = self.relevance
        order = np.lexsort([-judged.grade, judged.query])
        query, grade = judged.query[order], judged.grade[order]
        first = np.searchsorted(query, query)
        rank = np.arange(len(query)) - first
        cumulative = np.concatenate([[0.0], np.cumsum(grade * self.view.weights[np.minimum(rank, self._last_rank)])])
        starts = np.searchsorted(query, self.view.query, side="left")
        ends = np.searchsorted(query, self.view.query, side="right")
        return np.asarray(cumulative[np.minimum(starts + self.view.depth, ends)] - cumulative[starts])

    @property
    def _last_rank(self) -> int:
        return len(self.view.weights) - 1

    def _note_unjudged(self, notes: list[str]) -> NDArray[np.bool_]:
        """Which pairs have a relevant item; notes on the others, and on judged queries without a ranking."""
        assert self.relevance is not None
        judged = np.unique(self.relevance.query)
        has_relevant = np.isin(self.view.query, judged)
        self._note(notes, ~has_relevant, "queries without a relevant item, left out")
        unranked = np.setdiff1d(judged, self.view.query)
        if len(unranked):
            notes.append(f"queries with relevant items and without a ranking, left out: {self._listed(unranked)}")
        return has_relevant

    def _note_strangers(self, notes: list[str]) -> None:
        """A note where not one relevant item is ranked: ids of two systems, most likely."""
        assert self.relevance is not None
        relevant = np.unique(self.relevance.item)
        if len(relevant) and not np.isin(relevant, self.view.item).any():
            notes.append(f"no relevant item is ranked, of {len(relevant):,} (are the ids the same in both?)")

    def _note(self, notes: list[str], chosen: NDArray[np.bool_], text: str) -> None:
        queries = np.unique(self.view.query[chosen])
        if len(queries):
            notes.append(f"{text}: {self._listed(queries)}")

    def _note_unknown(self, notes: list[str], joint: Alignment) -> None:
        is_ranked = np.zeros(self.n_items, bool)
        is_ranked[self.view.item] = True
        ranked = np.flatnonzero(is_ranked)
        n_unknown = int((joint.rows[joint.page_type[ranked], 0] >= 1.0).sum())
        if n_unknown:
            note = f"{n_unknown:,} of {len(ranked):,} ranked items have no known group and count in none"
            notes.append(note + (" (are the ids the same in both?)" if n_unknown == len(ranked) else ""))

    def _listed(self, queries: Ints) -> str:
        names = [str(self.ranked.queries.names[int(query)]) for query in queries[:8]]
        return ", ".join(names) + (f" and {len(queries) - 8:,} more" if len(queries) > 8 else "")
