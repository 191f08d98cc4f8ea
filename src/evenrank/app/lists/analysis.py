"""What a list does to fairness: its balance, its trade-off at other strengths, and its versions over time."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.app.articles.candidates import find_for, read_user_articles
from evenrank.app.fairness.balance import CURVE_DECIMALS, Balance, Closeness, closeness_of, list_balance
from evenrank.app.fairness.charts import Plot, Stack, around, plot, stack
from evenrank.app.fairness.comparison import differ_in_few_people
from evenrank.app.lists.work_list import WorkList, count_states, measure_list, rank_for_work, versions_of
from evenrank.app.state import AppState
from evenrank.app.storage.store import upsert
from evenrank.core.records import NO_CLASS, WORK_ORDER
from evenrank.policies.optimal import Optimal

_SAVE_CURVE = upsert("trade_off", ("work_list",), "points")
WEIGHTS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Strengths of fairness along the curve."""
TURNS = tuple(threading.Lock() for _ in range(64))
"""One curve at a time for a list; lists share locks by their numbers."""


@dataclass(frozen=True)
class Moment:
    """One version of the list."""

    version: WorkList
    classes: tuple[int, ...]
    """Articles of each class, in work order."""
    closeness: Closeness
    """How close the attention is to the goal."""

    @property
    def n_articles(self) -> int:
        return len(self.version.page_ids)


@dataclass(frozen=True)
class GroupOverTime:
    """One group through the versions of a list."""

    label: str
    shares: tuple[float | None, ...]
    """Share of the attention in each version; None where it is withheld or there is none."""
    goal: float
    """The goal of the newest version."""


@dataclass(frozen=True)
class Campaign:
    """The versions of a list side by side."""

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
        found = []
        for label in labels:
            rows = [rows.get(label) for rows in by_version]
            shares = tuple(None if row is None or row.is_hidden else row.share for row in rows)
            if any(shares):
                found.append(
                    GroupOverTime(
                        label, shares, next(row.goal for row in reversed(rows) if row is not None and not row.is_hidden)
                    )
                )
        return found

    def shares_picture(self, dimension: str) -> Stack:
        """The shares of the groups of a dimension, a column for each version; what is withheld is a gap at the top."""
        groups = self.over_time(dimension)
        columns = [[group.shares[at] or 0.0 for group in groups] for at in range(len(self.balances))]
        return stack(columns, [str(at + 1) for at in range(len(columns))], most=1.0)


def campaign_of(state: AppState, work_list: WorkList) -> Campaign:
    """The campaign of a list."""
    versions = versions_of(state.store, work_list)
    balances = tuple(balance_of(state, version) for version in versions)
    moments = tuple(_moment(state, *both) for both in zip(versions, balances, strict=True))
    return Campaign(
        moments=moments,
        states=count_states(state.store, work_list),
        balances=balances,
        picture=stack([moment.classes for moment in moments], [str(at + 1) for at in range(len(moments))]),
    )


def _moment(state: AppState, version: WorkList, balance: Balance) -> Moment:
    codes = version.quality
    if codes is None:
        rows = state.collection.rows_of(version.page_ids)
        codes = np.where(rows >= 0, state.collection.quality_class[rows], NO_CLASS).astype(np.uint8)
    counts = np.bincount(codes, minlength=NO_CLASS + 1)[: len(WORK_ORDER)]
    return Moment(version, tuple(counts.tolist()), closeness_of(balance))


def balance_of(state: AppState, work_list: WorkList, page_ids: NDArray[np.int32] | None = None) -> Balance:
    """How the attention of a list, or of other pages in its place, is shared among groups, against its goal."""
    return list_balance(
        state.collection,
        work_list.page_ids if page_ids is None else page_ids,
        work_list.target,
        state.space(work_list),
        work_list.question,
        is_partial=len(work_list.page_ids) < work_list.n_candidates,
    )


@dataclass(frozen=True)
class TradePoint:
    """What one strength of fairness would give."""

    fairness: float
    relevance: float
    """Discounted relevance, relative to the order by relevance."""
    awrf: float


@dataclass(frozen=True)
class TradeOff:
    """The curve of a question and the place of its list."""

    points: tuple[TradePoint, ...]
    here: TradePoint
    plot: Plot
    is_withheld: bool
    """Whether its AWRF may say something about one person, so that nobody sees it."""


def trade_off(state: AppState, work_list: WorkList) -> TradeOff:
    """The curve, computed once and stored."""
    points = _load_points(state, work_list)
    if not points:
        with TURNS[work_list.number % len(TURNS)]:  # who comes meanwhile waits, and finds it kept
            points = _load_points(state, work_list) or _compute_points(state, work_list)
    certificate = work_list.certificate
    here = _round_point(TradePoint(work_list.question.fairness, certificate["relevance_share"], certificate["AWRF"]))
    points = [_round_point(point) for point in points]
    everything = [*points, here]
    drawn = plot(
        [(100 * point.awrf, 100 * point.relevance) for point in points],
        [(100 * here.awrf, 100 * here.relevance)],
        around([100 * point.awrf for point in everything], 2.0, 100.0),
        around([100 * point.relevance for point in everything], 2.0, 100.0),
    )
    return TradeOff(tuple(points), here, drawn, _has_few_people(state, work_list))


def _round_point(point: TradePoint) -> TradePoint:
    """A point as exact as the table shows it, also where the picture draws it."""
    return replace(point, awrf=round(point.awrf, CURVE_DECIMALS))


def _has_few_people(state: AppState, work_list: WorkList) -> bool:
    """Whether few people are on the list or at the other end of the curve, in plain search, or differ between them."""
    comparison, listed = work_list.comparison, work_list.page_ids
    ends = [listed, *([comparison.plain] if comparison else [])]
    if any(balance_of(state, work_list, page_ids).has_few_people for page_ids in ends):
        return True
    space, question = state.space(work_list), work_list.question
    return comparison is not None and differ_in_few_people(state.collection, comparison, listed, space, question)


def _load_points(state: AppState, work_list: WorkList) -> list[TradePoint]:
    query = "SELECT points FROM trade_off WHERE work_list = ?"
    row = state.store.connection.execute(query, (work_list.number,)).fetchone()
    return [TradePoint(*point) for point in orjson.loads(row["points"])] if row else []


def _compute_points(state: AppState, work_list: WorkList) -> list[TradePoint]:
    """What each strength would give, as the lists that they make are measured."""
    asked = replace(work_list.question, policy=Optimal.name)
    prepared = find_for(state, asked, 1, read_user_articles(state, asked))
    points = []
    for weight in WEIGHTS:
        question = replace(asked, fairness=weight)
        measured = measure_list(
            state, question, prepared, rank_for_work(question, prepared, len(work_list.page_ids))[0]
        )
        points.append((weight, measured["relevance_share"], measured["AWRF"]))
    with state.store.transaction(work_list.turn) as connection:
        record = orjson.dumps(points).decode()
        connection.execute(_SAVE_CURVE, (work_list.number, record))
    return [TradePoint(*point) for point in points]
