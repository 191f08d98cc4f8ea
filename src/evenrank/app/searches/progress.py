"""How near the draws of a search have come to its goal, all of them together: what Task 2 measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.app.fairness.balance import (
    LOSS_DECIMALS,
    Balance,
    Closeness,
    closeness_of,
    focuses_on_people,
    list_balance,
    page_alignment,
)
from evenrank.app.fairness.charts import Plot, plot
from evenrank.app.fairness.disclosure import disclosure_of
from evenrank.app.fairness.share_bars import ShareBars, share_bars
from evenrank.app.searches.draws import count_draws, first_draws
from evenrank.app.searches.saved_search import SavedSearch
from evenrank.app.state import AppState
from evenrank.core.exposure import AttentionTable
from evenrank.core.withheld import are_few_people
from evenrank.measures.expected_exposure import ee_loss
from evenrank.policies.optimal.sequence import LOSS, LOSS_BOUND, RESTRICTED_LOSS_BOUND

MOST_POINTS = 200
"""Points on the curve."""
LOSSES = (LOSS, LOSS_BOUND, RESTRICTED_LOSS_BOUND)
"""Figures of a certificate that are about EE-L."""


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
    proven_loss: float | None
    """EE-L of the whole plan, as the policy's certificate says; None where it counts people's groups, which `loss`
    leaves out."""
    bounds: tuple[float, float] | None
    """Least EE-L of any sequence of the articles found, and of those that keep to the limits on relevance; None where
    `proven_loss` is, and for searches of earlier versions."""
    closeness: Closeness
    """How close the attention of all draws together is to the goal."""
    balance: Balance
    plot: Plot


def search_progress(state: AppState, search: SavedSearch) -> SearchProgress | None:
    """The progress of a search; None before the first draw."""
    n_draws = count_draws(state.store.connection, search)
    kept = np.unique(np.linspace(0, n_draws - 1, min(n_draws, MOST_POINTS)).round().astype(int)).tolist()
    draws, means = first_draws(state.store.connection, search, n_draws, frozenset(kept))
    if not draws or len(draws) < n_draws:  # none yet, or the search was removed meanwhile
        return None
    balances, wanted = _balances(state, search, draws, means), float(search.wanted_exposure.sum())
    losses = {
        at: round(ee_loss(means[at].sum() * balances[at].exposure, wanted * balances[at].goal), LOSS_DECIMALS)
        for at in kept
        if balances[at].space.dimensions and not balances[at].has_few_people
    }
    is_complete = not balances[n_draws - 1].left_out
    proven = {name: round(search.certificate[name], LOSS_DECIMALS) for name in LOSSES if name in search.certificate}
    has_bounds = is_complete and len(proven) == len(LOSSES)
    proven_loss = proven[LOSS] if is_complete else None
    return SearchProgress(
        n_draws=n_draws,
        n_articles=len(np.unique(np.concatenate(draws))),
        loss=losses.get(n_draws - 1),
        first_loss=losses.get(0),
        proven_loss=proven_loss,
        bounds=(proven[LOSS_BOUND], proven[RESTRICTED_LOSS_BOUND]) if has_bounds else None,
        closeness=closeness_of(balances[n_draws - 1]),
        balance=balances[n_draws - 1],
        plot=_plot(losses, n_draws, proven_loss),
    )


def progress_bars(state: AppState, search: SavedSearch, progress: SearchProgress | None) -> list[ShareBars]:
    """Plain search, which gives everybody the same articles, beside all draws together and the goal."""
    if progress is None:
        return []
    first = search.page_ids[np.argsort(-search.relevance, kind="stable")][: search.plan.shape[1]]
    collection = state.collection_of(search)
    plain = list_balance(collection, first, search.target, state.space(search), search.question)
    return share_bars(progress.balance, plain)


def has_few_candidates(state: AppState, search: SavedSearch) -> bool:
    """Whether so few of a search's articles are about people that proofs of its plan may say something about one, or
    visitors chose whom the plan's attention goes to."""
    space = state.space(search)
    counts = page_alignment(state.collection, search.page_ids, space, search.question.within).total()
    return isinstance(search.question.attention_model, AttentionTable) or are_few_people(counts, space)


def _balances(
    state: AppState,
    search: SavedSearch,
    draws: Sequence[NDArray[np.int32]],
    means: Mapping[int, NDArray[np.float64]],
) -> dict[int, Balance]:
    """After each draw that has a mean, the balance of it and all before it: their mean exposure and distinct pages."""
    space, question, rule = state.space(search), search.question, disclosure_of(state, search)
    pages, place = np.unique(np.concatenate(draws), return_inverse=True)
    alignment = page_alignment(state.collection_of(search), pages, space, question.within)
    weights = question.weights(max(map(len, draws)))
    attention, is_shown, found = np.zeros(len(pages)), np.zeros(len(pages), bool), {}
    for at, places in enumerate(np.split(place, np.cumsum([len(draw) for draw in draws])[:-1])):
        attention[places] += weights[: len(places)]
        is_shown[places] = True
        if at in means:
            balance = Balance(
                space,
                means[at] / max(means[at].sum(), 1e-12),
                search.target,
                alignment.take(np.flatnonzero(is_shown)).total(),
                counts_unknown=True,
                is_partial=bool(is_shown.sum() < len(search.page_ids)),
                is_focused=focuses_on_people(question, alignment, attention, space),
            )
            found[at] = rule.balance(balance)
    return found


def _plot(losses: Mapping[int, float], n_draws: int, proven: float | None) -> Plot:
    points = [(float(at + 1), loss) for at, loss in losses.items()]
    highest = 1.05 * max([*losses.values(), proven or 0.0]) or 1.0
    return plot(points, points[-1:], (1.0, max(2.0, float(n_draws))), (0.0, highest), level=proven, counts=True)
