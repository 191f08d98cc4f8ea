"""How near the draws of a search have come to its goal, all of them together: what Task 2 measures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenrank.metrics.awrf import awrf
from evenrank.metrics.ee_loss import ee_loss
from evenrank.web.desk import Desk
from evenrank.web.fairness.balance import Balance, draws_balance
from evenrank.web.fairness.charts import Plot, plot
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
    loss: float
    """EE-L of the draws so far: the squared distance of the mean exposure from the goal."""
    first_loss: float
    """EE-L of the first draw alone."""
    proven_loss: float
    """EE-L of the whole plan, as the policy's certificate says."""
    closeness: float
    """How close the attention of all draws together is to the goal, from 0 to 1."""
    first_closeness: float
    """The same of the first draw alone."""
    balance: Balance
    plot: Plot


def search_progress(desk: Desk, search: SavedSearch) -> SearchProgress | None:
    """The progress of a search; None before the first draw."""
    page_ids, exposures = all_draws(desk.store.connection, search)
    n_draws = len(exposures)
    if not n_draws:
        return None
    means = np.cumsum(exposures, axis=0) / np.arange(1, n_draws + 1)[:, None]
    kept = np.unique(np.linspace(0, n_draws - 1, min(n_draws, MOST_POINTS)).round().astype(int))
    losses = [ee_loss(means[at], search.wanted_exposure) for at in kept]
    proven = search.certificate["EE-L"]
    points = [(float(at + 1), loss) for at, loss in zip(kept, losses, strict=True)]
    return SearchProgress(
        n_draws=n_draws,
        n_articles=len(np.unique(page_ids)),
        loss=losses[-1],
        first_loss=losses[0],
        proven_loss=proven,
        closeness=awrf(means[-1], search.target),
        first_closeness=awrf(means[0], search.target),
        balance=draws_balance(
            desk.collection,
            page_ids,
            exposures.sum(axis=0),
            search.target,
            desk.space(search),
            search.question.within,
        ),
        plot=plot(
            points,
            points[-1:],
            (1.0, max(2.0, float(n_draws))),
            (0.0, 1.05 * max(*losses, proven)),
            level=proven,
            counts=True,
        ),
    )
