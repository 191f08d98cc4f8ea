"""AWRF with other distances of exposure from the target: Kullback–Leibler, Hellinger, total variation, ordinal."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from evenrank.measures.measure import Measure, TopicView

Distribution = NDArray[np.float64]


def kl_divergence(p: Distribution, q: Distribution, rest: float = 0.0) -> float:
    """Kullback–Leibler divergence of p from q in bits; infinite where q has nothing and p has something."""
    is_there = p > 0.0
    if (q[is_there] <= 0.0).any():
        return math.inf
    return float((p[is_there] * np.log2(p[is_there] / q[is_there])).sum())


def hellinger(p: Distribution, q: Distribution, rest: float = 0.0) -> float:
    """Hellinger distance, 0 to 1."""
    return math.sqrt(max(0.0, 1.0 - float(np.sqrt(p * q).sum())))


def total_variation(p: Distribution, q: Distribution, rest: float = 0.0) -> float:
    """Half the sum of the differences, 0 to 1; `rest` is what q has in groups that are not listed."""
    return 0.5 * (float(np.abs(p - q).sum()) + rest)


def match_distance(p: Distribution, q: Distribution, rest: float = 0.0) -> float:
    """How far shares must be carried to turn p into q, of the largest distance there is; 0 to 1, for ordered groups."""
    return float(np.abs(np.cumsum(p - q)[:-1]).sum()) / max(1, len(p) - 1)


def _distance(distance: Callable[[Distribution, Distribution, float], float]) -> Callable[[TopicView], float]:
    def compute(view: TopicView) -> float:
        if view.exposes_nothing or view.wants_nothing:
            return math.nan
        wanted = view.target.sum() + view.groups.unexposed_target
        rest = view.groups.unexposed_target / wanted
        return distance(view.exposure / view.exposure.sum(), view.target / wanted, rest)

    return compute


KL = Measure(
    name="KL",
    tasks=(1,),
    label="Kullback–Leibler divergence of exposure by group from the target",
    formula="Σ e log2(e / t)",
    higher_is_better=False,
    low=0.0,
    high=math.inf,
    if_empty=math.nan,
    citation="Kullback and Leibler 1951; AWRF leaves the distance open (Sapiezynski et al. 2019)",
    compute=_distance(kl_divergence),
    on_request=True,
)
AWRF_HELLINGER = Measure(
    name="AWRF-H",
    tasks=(1,),
    label="AWRF with the Hellinger distance",
    formula="1 − √(1 − Σ √(e t))",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    if_empty=math.nan,
    citation="Sapiezynski et al. 2019 leave the distance open",
    compute=lambda view: 1.0 - _distance(hellinger)(view),
    on_request=True,
)
AWRF_TOTAL_VARIATION = Measure(
    name="AWRF-TV",
    tasks=(1,),
    label="AWRF with the total variation distance: the share of exposure that is where it should be",
    formula="1 − ½ Σ |e − t|",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    if_empty=math.nan,
    citation="Sapiezynski et al. 2019 leave the distance open",
    compute=lambda view: 1.0 - _distance(total_variation)(view),
    on_request=True,
)


def _ordinal(view: TopicView) -> float:
    """Undefined where the groups have no order: in several dimensions, or of regions, genders and occupations."""
    return 1.0 - _distance(match_distance)(view) if view.is_ordered else math.nan


AWRF_ORDINAL = Measure(
    name="AWRF-OD",
    tasks=(1,),
    label="AWRF with an ordinal distance: exposure in a neighbouring group is less wrong; for one dimension of bands",
    formula="1 − Σ_i |Σ_{j ≤ i} (e_j − t_j)| / (n − 1) over n groups in their order",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    if_empty=math.nan,
    citation="normalised match distance: Werman et al. 1985; for ordered groups Sakai 2021 and Sakai et al. 2023",
    compute=_ordinal,
    on_request=True,
)
