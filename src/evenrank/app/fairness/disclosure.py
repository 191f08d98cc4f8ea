"""What may be said about groups of people, such as genders: one rule for pages, previews, JSON, exports and versions.

Readers are taken to be adversaries with a thousand requests, each of which may depend on the answers before it.

* Where the reader chose the articles (titles, a file, the links of a page, marks), nothing at all is said: whoever
  knows everybody else on a list would read the last gender off any total, and noise is averaged away by padding.
* Where the wiki chose them (words, a category, a banner), one coarse band is said of many biographies: "about a
  quarter". It is drawn once, from a count with noise, and stored; questions that find nearly the same biographies get
  the same band, and nobody is counted in more than `MOST_BANDS` bands. So all bands together are ε-differentially
  private with ε = `MOST_BANDS` · `EPSILON`: whatever is asked, nobody can guess a gender from them more often than
  in e^ε / (1 + e^ε) = 57 % of the cases, where 50 % is a coin (Dwork and Roth 2014, sections 2.3 and 3.5).
* Relevance of articles is a number only where people's groups do not count, because a place in the order that relevance
  does not explain is explained by a group.

The order of a list remains: it depends on the groups that count. `benchmarks/order_leak.py` measures what it reveals.
An operator may show totals (`serve --gender-totals`); pages then say so.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.app.articles.collection_view import masks_of_rows
from evenrank.app.fairness.balance import Balance, misfits, public_certificate, round_figure
from evenrank.app.request.question import Question
from evenrank.app.state import AppState
from evenrank.app.storage.saved_request import SavedRequest, int32, pack
from evenrank.app.storage.store import now
from evenrank.core.groups import Dimension, GroupSpace

CHOSEN_BY_WIKI = frozenset({"category", "banner"})
"""Kinds of sources whose articles the reader does not choose one by one. The links of a page are not among them:
anybody can make a page."""
FEWEST_BIOGRAPHIES = 200
"""Biographies from which on a band is said; below it, noise would make the band wrong too often (here: one in ten is
off by more than half a band)."""
EPSILON = 0.09
"""Privacy loss of one band: the number of people in the group has noise of scale 1/ε, about 11 people."""
MOST_BANDS = 3
"""Bands in which one person is counted, on one store, ever."""
SAME_SUBJECT = 0.5
"""Share of the biographies of two questions, of all that either has, from which on they have the same band."""
BANDS = ("few or none", "about a quarter", "about half", "about three quarters", "nearly all")
"""Bands in words: the share of a group, rounded to a quarter."""


@dataclass(frozen=True)
class Disclosure:
    """What a list or search may say about groups of people."""

    counts_people: bool
    """Whether the goal counts groups of people, such as genders."""
    is_chosen_by_reader: bool
    """Whether the reader chose which articles there are."""
    has_totals: bool
    """Whether the operator shows totals."""
    is_plan: bool = False
    """Whether figures are of a plan that nobody sees, as those of searches; those of a list follow from its order."""

    @property
    def hides_people(self) -> bool:
        """Whether figures leave groups of people out."""
        return self.counts_people and not self.has_totals

    @property
    def has_bands(self) -> bool:
        """Whether a coarse band may be said."""
        return self.hides_people and not self.is_chosen_by_reader

    @property
    def shows_relevance_kept(self) -> bool:
        """Whether the relevance of the whole list may be compared with that of plain search."""
        return not self.hides_people or not (self.is_chosen_by_reader or self.is_plan)

    def balance(self, balance: Balance) -> Balance:
        """A balance as it may be shown."""
        return balance.public() if self.hides_people else balance

    def relevance(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Relevance of articles as it may be shown: not a number where it may not."""
        return np.full_like(values, np.nan) if self.hides_people else values

    def certificate(self, values: Mapping[str, float], space: GroupSpace, has_few_people: bool) -> dict[str, float]:
        """What of a certificate may be shown."""
        if not self.hides_people:
            return public_certificate(values, space, has_few_people)
        kept = public_certificate(values, space, has_few_people=True) if self.shows_relevance_kept else {}
        return {name: round_figure(name, value) for name, value in kept.items()}


def disclosure_for(state: AppState, question: Question, has_marks: bool = False) -> Disclosure:
    """The rule for a question; `has_marks` says that marks decided which articles there are."""
    return Disclosure(
        counts_people=any(dimension.is_personal for dimension in state.space_of(question).dimensions),
        is_chosen_by_reader=has_marks or any(source.kind not in CHOSEN_BY_WIKI for source in question.sources),
        has_totals=state.settings.shows_totals,
    )


def disclosure_of(state: AppState, saved: SavedRequest) -> Disclosure:
    """The rule for a list or search."""
    return replace(disclosure_for(state, saved.question, saved.is_made_by_marks), is_plan=saved.area == "searches")


def goal_in_force(state: AppState, saved: SavedRequest) -> dict[str, Any]:
    """What pages of a list or search say of its goal: whether it fits, and what they may say about people."""
    space = state.space(saved)
    return {
        "disclosure": disclosure_of(state, saved),
        "bands": bands_of(state, saved),
        "misfits": misfits(state.collection_of(saved), saved.page_ids, saved.relevance, saved.question, space),
    }


@dataclass(frozen=True)
class GroupBand:
    """How large a group of people is among the biographies of a list or search, coarsely."""

    dimension: str
    group: str
    """The group in words, such as `women`."""
    text: str
    """One of `BANDS`."""


def bands_of(state: AppState, saved: SavedRequest) -> list[GroupBand]:
    """What is said of the groups of people of a list or search: for each dimension, a band of its first known group;
    none where the reader chose the articles, or where there are too few biographies."""
    if not disclosure_of(state, saved).has_bands:
        return []
    found = []
    for dimension in state.space(saved).dimensions:
        if dimension.is_personal and dimension.has_unknown:
            band = _band(state, saved.page_ids, dimension)
            if band is not None:
                found.append(GroupBand(dimension.name, dimension.readable_groups[1], BANDS[band]))
    return found


def _band(state: AppState, page_ids: NDArray[np.int32], dimension: Dimension) -> int | None:
    """The band of the first known group of a dimension: that of nearly the same biographies if there is one, else a
    new one; None when too few of them may still be counted."""
    masks = masks_of_rows(state.collection, state.collection.rows_of(page_ids), dimension)
    people = np.unique(page_ids[masks >> 1 > 0])
    if len(people) < FEWEST_BIOGRAPHIES:
        return None
    known = _stored_bands(state, dimension)
    if (band := _band_of_same(known, people)) is not None:
        return band
    with state.store.transaction(("band", dimension.name)) as connection:
        known = _stored_bands(state, dimension)  # another process may have drawn it meanwhile
        if (band := _band_of_same(known, people)) is not None:
            return band
        counted = people[_times_counted(known, people) < MOST_BANDS]
        if len(counted) < FEWEST_BIOGRAPHIES:
            return None
        in_group = masks_of_rows(state.collection, state.collection.rows_of(counted), dimension) >> 1 & 1
        band = draw_band(int(in_group.sum()), len(counted))
        connection.execute(
            "INSERT INTO people_band (dimension, pages, band, created) VALUES (?, ?, ?, ?)",
            (dimension.name, pack(counted, "<i4"), band, now()),
        )
    return band


def _stored_bands(state: AppState, dimension: Dimension) -> list[tuple[NDArray[np.int32], int]]:
    query = "SELECT pages, band FROM people_band WHERE dimension = ? ORDER BY number"
    rows = state.store.connection.execute(query, (dimension.name,)).fetchall()
    return [(int32(row["pages"]), int(row["band"])) for row in rows]


def _band_of_same(known: Iterable[tuple[NDArray[np.int32], int]], people: NDArray[np.int32]) -> int | None:
    """The band of the stored biographies that are most nearly the same; None when none are near enough."""
    best, found = SAME_SUBJECT, None
    for pages, band in known:
        n_both = len(np.intersect1d(pages, people, assume_unique=True))
        share = n_both / (len(pages) + len(people) - n_both)
        if share >= best:
            best, found = share, band
    return found


def _times_counted(known: Iterable[tuple[NDArray[np.int32], int]], people: NDArray[np.int32]) -> NDArray[np.intp]:
    times = np.zeros(len(people), np.intp)
    for pages, _ in known:
        times += np.isin(people, pages)
    return times


def draw_band(n_in_group: int, n_people: int) -> int:
    """The band of a noisy share: a count with two-sided geometric noise (Ghosh et al. 2009), rounded to a quarter."""
    share = (n_in_group + _geometric() - _geometric()) / n_people
    return int(np.clip(round(share * (len(BANDS) - 1)), 0, len(BANDS) - 1))


def _geometric() -> int:
    """A number n with probability proportional to e^(−ε n); from the system's entropy, because whoever can repeat the
    noise can take it off."""
    uniform = 1.0 - secrets.SystemRandom().random()
    return math.floor(-math.log(uniform) / EPSILON)
