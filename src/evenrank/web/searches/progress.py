"""How near the draws of a search have come to its goal, all of them together: what Task 2 measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.groups import UNKNOWN_MASK, Dimension
from evenrank.alignment.withheld import are_few, are_few_people
from evenrank.metrics.ee_loss import ee_loss
from evenrank.web.articles.groups import masks_of_rows
from evenrank.web.desk import Desk
from evenrank.web.fairness.balance import Balance, draws_balance, page_alignment
from evenrank.web.fairness.charts import Plot, plot
from evenrank.web.fairness.closeness import Closeness, closeness_of
from evenrank.web.searches.draws import all_draws
from evenrank.web.searches.saved_search import SavedSearch

MOST_POINTS = 200
"""Points on the curve."""


@dataclass(frozen=True)
class SearchProgress:
    """The sum of all draws against the goal."""

    n_draws: int
    n_articles: int
    """Distinct articles that were shown."""
    loss: float | None
    """EE-L of the draws so far: the squared distance of the mean exposure from the goal; None when it is withheld,
    because the draws are about few people."""
    first_loss: float | None
    """EE-L of the first draw alone; None when that is about few people."""
    proven_loss: float
    """EE-L of the whole plan, as the policy's certificate says."""
    closeness: Closeness
    """How close the attention of all draws together is to the goal."""
    first_closeness: Closeness
    """The same of the first draw alone."""
    balance: Balance
    plot: Plot


def search_progress(desk: Desk, search: SavedSearch) -> SearchProgress | None:
    """The progress of a search; None before the first draw."""
    draws, exposures = all_draws(desk.store.connection, search)
    n_draws = len(exposures)
    if not n_draws:
        return None
    means = np.cumsum(exposures, axis=0) / np.arange(1, n_draws + 1)[:, None]
    kept = np.unique(np.linspace(0, n_draws - 1, min(n_draws, MOST_POINTS)).round().astype(int))
    is_shown = ~_have_few_people(desk, search, draws)
    losses = {int(at): ee_loss(means[at], search.wanted_exposure) for at in kept if is_shown[at]}
    first, last = (_balance(desk, search, draws[:n], exposures[:n]) for n in (1, n_draws))
    return SearchProgress(
        n_draws=n_draws,
        n_articles=len(np.unique(np.concatenate(draws))),
        loss=losses.get(n_draws - 1),
        first_loss=losses.get(0),
        proven_loss=search.certificate["EE-L"],
        closeness=closeness_of(last),
        first_closeness=closeness_of(first),
        balance=last,
        plot=_plot(losses, n_draws, search.certificate["EE-L"]),
    )


def candidates_have_few_people(desk: Desk, search: SavedSearch) -> bool:
    """Whether so few of a search's articles are about people that proofs of its plan may say something about one."""
    space = desk.space(search)
    counts = page_alignment(desk.collection, search.page_ids, space, search.question.within).total()
    return are_few_people(counts, space)


def _balance(
    desk: Desk, search: SavedSearch, draws: Sequence[NDArray[np.int32]], exposures: NDArray[np.float64]
) -> Balance:
    return draws_balance(
        desk.collection,
        np.concatenate(draws),
        exposures.sum(axis=0),
        search.target,
        desk.space(search),
        len(search.page_ids),
        search.question.within,
    )


def _have_few_people(desk: Desk, search: SavedSearch, draws: Sequence[NDArray[np.int32]]) -> NDArray[np.bool_]:
    """For each draw, whether it and all before it are about few people, or none of those that the goal follows, so that
    their loss may say something about one."""
    pages, first_place = np.unique(np.concatenate(draws), return_index=True)
    first_draw = np.searchsorted(np.cumsum([len(draw) for draw in draws]), first_place, side="right")
    is_few = np.zeros(len(draws), bool)
    for dimension in desk.space(search).dimensions:
        if dimension.is_personal:
            by_draw = np.bincount(first_draw, _are_people(desk, pages, dimension), len(draws))
            n_people = np.cumsum(by_draw, dtype=np.float64)
            has_others = _are_people(desk, search.page_ids, dimension).sum() > n_people
            is_few |= are_few(n_people) | (has_others & (n_people == 0))
    return is_few


def _are_people(desk: Desk, page_ids: NDArray[np.int32], dimension: Dimension) -> NDArray[np.bool_]:
    """Which pages are in a known group of a personal dimension."""
    return np.asarray(masks_of_rows(desk.collection, desk.collection.rows_of(page_ids), dimension) > UNKNOWN_MASK)


def _plot(losses: Mapping[int, float], n_draws: int, proven: float) -> Plot:
    points = [(float(at + 1), loss) for at, loss in losses.items()]
    highest = 1.05 * max([*losses.values(), proven])
    return plot(points, points[-1:], (1.0, max(2.0, float(n_draws))), (0.0, highest), level=proven, counts=True)
