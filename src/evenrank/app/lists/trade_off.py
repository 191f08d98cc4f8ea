"""The trade-off of a work list: relevance against fairness, with the list's own point on the curve."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import orjson

from evenrank.app.articles.candidates import bring_articles, find_for
from evenrank.app.desk import Desk
from evenrank.app.fairness.charts import Plot, around, plot
from evenrank.app.fairness.closeness import CURVE_DECIMALS
from evenrank.app.fairness.comparison import differ_in_few_people
from evenrank.app.lists.campaign import balance_of
from evenrank.app.lists.work_list import WorkList, measure_list, rank_for_work
from evenrank.policies.optimal import Optimal

UPSERT = (
    "INSERT INTO trade_off (work_list, points) VALUES (?, ?) "
    "ON CONFLICT (work_list) DO UPDATE SET points = excluded.points"
)
WEIGHTS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Strengths of fairness along the curve."""


TURNS = tuple(threading.Lock() for _ in range(64))
"""One curve at a time for a list; lists share locks by their numbers."""


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


def trade_off(desk: Desk, work_list: WorkList) -> TradeOff:
    """The curve, worked out once and kept."""
    points = _kept(desk, work_list)
    if not points:
        with TURNS[work_list.number % len(TURNS)]:  # who comes meanwhile waits, and finds it kept
            points = _kept(desk, work_list) or _worked_out(desk, work_list)
    certificate = work_list.certificate
    here = _rounded(TradePoint(work_list.question.fairness, certificate["relevance_share"], certificate["AWRF"]))
    points = [_rounded(point) for point in points]
    everything = [*points, here]
    drawn = plot(
        [(100 * point.awrf, 100 * point.relevance) for point in points],
        [(100 * here.awrf, 100 * here.relevance)],
        around([100 * point.awrf for point in everything], 2.0, 100.0),
        around([100 * point.relevance for point in everything], 2.0, 100.0),
    )
    return TradeOff(tuple(points), here, drawn, _has_few_people(desk, work_list))


def _rounded(point: TradePoint) -> TradePoint:
    """A point as exact as the table shows it, also where the picture draws it."""
    return replace(point, awrf=round(point.awrf, CURVE_DECIMALS))


def _has_few_people(desk: Desk, work_list: WorkList) -> bool:
    """Whether few people are on the list or at the other end of the curve, in plain search, or differ between them."""
    comparison, listed = work_list.comparison, work_list.page_ids
    ends = [listed, *([comparison.plain] if comparison else [])]
    if any(balance_of(desk, work_list, page_ids).has_few_people for page_ids in ends):
        return True
    space, question = desk.space(work_list), work_list.question
    return comparison is not None and differ_in_few_people(desk.collection, comparison, listed, space, question)


def _kept(desk: Desk, work_list: WorkList) -> list[TradePoint]:
    query = "SELECT points FROM trade_off WHERE work_list = ?"
    row = desk.store.connection.execute(query, (work_list.number,)).fetchone()
    return [TradePoint(*point) for point in orjson.loads(row["points"])] if row else []


def _worked_out(desk: Desk, work_list: WorkList) -> list[TradePoint]:
    """What each strength would give, as the lists that they make are measured."""
    asked = replace(work_list.question, policy=Optimal.name)
    prepared = find_for(desk, asked, 1, bring_articles(desk, asked))
    points = []
    for weight in WEIGHTS:
        question = replace(asked, fairness=weight)
        measured = measure_list(desk, question, prepared, rank_for_work(question, prepared, len(work_list.page_ids))[0])
        points.append((weight, measured["relevance_share"], measured["AWRF"]))
    with desk.store.transaction(work_list.turn) as connection:
        record = orjson.dumps(points).decode()
        connection.execute(UPSERT, (work_list.number, record))
    return [TradePoint(*point) for point in points]
