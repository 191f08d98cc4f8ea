"""What a list does to fairness: its balance, its trade-off at other strengths, and its versions over time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.app.articles.candidates import find_for, read_user_articles
from evenrank.app.fairness.balance import Balance, Closeness, closeness_of, list_balance, round_share
from evenrank.app.fairness.charts import Plot, Stack, around, plot, stack
from evenrank.app.fairness.comparison import differ_in_few_people
from evenrank.app.fairness.disclosure import disclosure_of
from evenrank.app.fairness.share_bars import ShareBars, share_bars
from evenrank.app.lists.work_list import (
    WorkList,
    count_states,
    count_versions,
    measure_list,
    rank_for_work,
    versions_of,
)
from evenrank.app.request.budget import most_cells
from evenrank.app.state import AppState
from evenrank.app.storage.store import upsert
from evenrank.core.records import NO_CLASS, WORK_ORDER
from evenrank.policies.optimal import Optimal

_SAVE_CURVE = upsert("trade_off", ("work_list",), "points")
MOST_VERSIONS = 100
"""Versions that are compared; each is read and weighed anew."""
WEIGHTS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Strengths of fairness along the curve."""
LEAST_DRAWN = 0.5
"""Percentage points by which the goal must be reached better at some strength than at another for a picture of it."""
EASY_ARTICLES, EASY_CELLS = 4000, 50_000
"""Articles, and numbers for their kinds and groups together, up to which one request ranks for the whole curve; with
more, each request ranks for one strength, so that none takes the place of others for long."""
TURNS = tuple(threading.Lock() for _ in range(64))
"""One curve at a time for a list; lists share locks by their numbers."""


@dataclass(frozen=True)
class Moment:
    """One version of the list."""

    number: int
    """1 for the first version."""
    version: WorkList
    classes: tuple[int, ...]
    """Articles of each class, in work order."""
    closeness: Closeness
    """How close the attention is to the goal."""
    is_mostly_known: bool
    """Whether the groups of enough of the attention are known to say that."""

    @property
    def n_articles(self) -> int:
        return len(self.version.page_ids)


@dataclass(frozen=True)
class GroupOverTime:
    """One group through the versions of a list."""

    label: str
    tone: int
    """Place of the group in its dimension: its colour on every page."""
    shares: tuple[float | None, ...]
    """Share of the attention in each version; None where it is withheld or there is none."""
    goal: float
    """The goal of the newest version."""


@dataclass(frozen=True)
class Campaign:
    """The newest versions of a list side by side."""

    moments: tuple[Moment, ...]
    states: dict[str, int]
    """Articles that are claimed, in work, done, off topic."""
    balances: tuple[Balance, ...]
    """How the attention of each version is shared."""
    picture: Stack

    @property
    def first(self) -> Balance:
        return self.balances[0]

    @property
    def last(self) -> Balance:
        return self.balances[-1]

    def over_time(self, dimension: str) -> list[GroupOverTime]:
        """The shares of each group of a dimension in all versions; what is withheld in one is None there."""
        by_version = [{row.label: row for row in balance.by_dimension(dimension)} for balance in self.balances]
        labels = dict.fromkeys(label for rows in by_version for label in rows)
        tones = self.last.space.dimension(dimension).readable_groups
        found = []
        for label in labels:
            rows = [rows.get(label) for rows in by_version]
            shares = tuple(None if row is None or row.is_hidden else row.share for row in rows)
            if any(shares):
                found.append(
                    GroupOverTime(
                        label,
                        tones.index(label),
                        shares,
                        next(row.goal for row in reversed(rows) if row is not None and not row.is_hidden),
                    )
                )
        return found

    def shares_picture(self, dimension: str) -> Stack:
        """The shares of the groups of a dimension, a column for each version; what is withheld is a gap at the top."""
        groups = self.over_time(dimension)
        columns = [[group.shares[at] or 0.0 for group in groups] for at in range(len(self.balances))]
        return stack(columns, [str(moment.number) for moment in self.moments], most=1.0)


def campaign_of(state: AppState, work_list: WorkList) -> Campaign:
    """The campaign of a list."""
    versions = versions_of(state.store, work_list, MOST_VERSIONS)
    first = count_versions(state.store, work_list) - len(versions) + 1
    balances = tuple(balance_of(state, version) for version in versions)
    moments = tuple(_moment(state, *each) for each in zip(count(first), versions, balances))
    return Campaign(
        moments=moments,
        states=count_states(state.store, work_list),
        balances=balances,
        picture=stack([moment.classes for moment in moments], [str(moment.number) for moment in moments]),
    )


def _moment(state: AppState, number: int, version: WorkList, balance: Balance) -> Moment:
    codes = version.quality
    if codes is None:
        rows = state.collection.rows_of(version.page_ids)
        codes = np.where(rows >= 0, state.collection.quality_class[rows], NO_CLASS).astype(np.uint8)
    counts = np.bincount(codes, minlength=NO_CLASS + 1)[: len(WORK_ORDER)]
    is_mostly_known = all(one.is_mostly_known for one in share_bars(balance, None))
    return Moment(number, version, tuple(counts.tolist()), closeness_of(balance), is_mostly_known)


def balance_of(state: AppState, work_list: WorkList, page_ids: NDArray[np.int32] | None = None) -> Balance:
    """How the attention of a list, or of other pages in its place, is shared among groups, against its goal; as it may
    be shown."""
    return disclosure_of(state, work_list).balance(
        list_balance(
            state.collection_of(work_list),
            work_list.page_ids if page_ids is None else page_ids,
            work_list.target,
            state.space(work_list),
            work_list.question,
            is_partial=len(work_list.page_ids) < work_list.n_candidates,
        )
    )


def list_bars(state: AppState, work_list: WorkList) -> list[ShareBars]:
    """Search, list and goal side by side."""
    comparison = work_list.comparison
    plain = None if comparison is None else balance_of(state, work_list, comparison.plain)
    return share_bars(balance_of(state, work_list), plain)


@dataclass(frozen=True)
class TradePoint:
    """What one strength of fairness would give."""

    fairness: float
    relevance: float | None
    """Discounted relevance, relative to the order by relevance; None where it is withheld."""
    awrf: float | None
    """How close the attention is to the goal; None where it is withheld, because it may say something about people."""


@dataclass(frozen=True)
class TradeOff:
    """The curve of a question and the place of its list."""

    points: tuple[TradePoint, ...]
    here: TradePoint
    plot: Plot | None
    """None where something is withheld, and where all strengths reach about the same."""
    is_complete: bool
    """Whether all groups are counted; else those of people are not."""


def trade_off(state: AppState, work_list: WorkList) -> TradeOff | None:
    """The curve, computed once and stored; None while there is more to compute, for another request."""
    points = _load_points(state, work_list)
    if len(points) < len(WEIGHTS):
        with TURNS[work_list.number % len(TURNS)]:  # who comes meanwhile waits, and finds it kept
            points = _load_points(state, work_list)
            if len(points) < len(WEIGHTS):
                points = _compute_points(state, work_list, points)
    if len(points) < len(WEIGHTS):
        return None
    rule = disclosure_of(state, work_list)
    is_withheld = not rule.hides_people and _has_few_people(state, work_list)
    measured = closeness_of(balance_of(state, work_list)).value if rule.hides_people else work_list.certificate["AWRF"]
    now = _MeasuredPoint(work_list.question.fairness, work_list.certificate["relevance_share"], measured, measured)
    here, *shown = (
        TradePoint(
            point.fairness,
            round_share(point.relevance) if rule.shows_relevance_kept else None,
            None if is_withheld else _rounded(point.awrf_without_people if rule.hides_people else point.awrf),
        )
        for point in (now, *points)
    )
    return TradeOff(tuple(shown), here, _plot_curve(shown, here), is_complete=not rule.hides_people)


def _rounded(value: float | None) -> float | None:
    """A figure as exact as the table shows it, also where the picture draws it."""
    return None if value is None else round_share(value)


def _plot_curve(points: Sequence[TradePoint], here: TradePoint) -> Plot | None:
    places = [
        (100 * point.awrf, 100 * point.relevance)
        for point in (*points, here)
        if point.awrf is not None and point.relevance is not None
    ]
    if len(places) <= len(points) or np.ptp([reached for reached, _ in places]) < LEAST_DRAWN:
        return None
    x_range, y_range = (around([place[axis] for place in places], 2.0, 100.0) for axis in (0, 1))
    return plot(places[:-1], places[-1:], x_range, y_range)


class _MeasuredPoint(NamedTuple):
    """A point of the curve as it is stored."""

    fairness: float
    relevance: float
    awrf: float | None
    awrf_without_people: float | None


def _has_few_people(state: AppState, work_list: WorkList) -> bool:
    """Whether few people are on the list or at the other end of the curve, in plain search, or differ between them."""
    comparison, listed = work_list.comparison, work_list.page_ids
    ends = [listed, *([comparison.plain] if comparison else [])]
    if any(balance_of(state, work_list, page_ids).has_few_people for page_ids in ends):
        return True
    space, question = state.space(work_list), work_list.question
    return comparison is not None and differ_in_few_people(
        state.collection_of(work_list), comparison, listed, space, question
    )


def _load_points(state: AppState, work_list: WorkList) -> list[_MeasuredPoint]:
    """The points stored so far; none when they were stored before groups of people could be left out."""
    query = "SELECT points FROM trade_off WHERE work_list = ?"
    row = state.store.connection.execute(query, (work_list.number,)).fetchone()
    points = orjson.loads(row["points"]) if row else []
    return [_MeasuredPoint(*point) for point in points if len(point) == len(_MeasuredPoint._fields)]


def _compute_points(
    state: AppState, work_list: WorkList, points: Sequence[_MeasuredPoint] = ()
) -> list[_MeasuredPoint]:
    """What the next strength, or each of those without `points`, would give, as the lists that they make are
    measured."""
    asked = replace(work_list.question, policy=Optimal.name)
    user_articles = read_user_articles(state, asked)
    state = state.with_corrections(work_list.corrections)
    prepared = find_for(state, asked, 1, user_articles)
    candidates = prepared.candidates
    n_cells = most_cells(candidates.alignment, prepared.target.space)
    is_easy = len(candidates) <= EASY_ARTICLES and n_cells <= EASY_CELLS
    points = list(points)
    for weight in WEIGHTS[len(points) :][: None if is_easy else 1]:
        question = replace(asked, fairness=weight)
        measured = measure_list(
            state, question, prepared, rank_for_work(question, prepared, len(work_list.page_ids))[0]
        )
        points.append(
            _MeasuredPoint(weight, measured["relevance_share"], measured["AWRF"], measured.get("AWRF_without_people"))
        )
    with state.store.transaction(work_list.turn) as connection:
        record = orjson.dumps([tuple(point) for point in points]).decode()
        connection.execute(_SAVE_CURVE, (work_list.number, record))
    return points
