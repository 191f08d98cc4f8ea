"""The visible list of measures. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from evenrank.core.records import Task
from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.measures.awrf import AWRF
from evenrank.measures.awrf_variants import AWRF_HELLINGER, AWRF_ORDINAL, AWRF_TOTAL_VARIATION, KL
from evenrank.measures.coverage import DISTINCT, SHOWN
from evenrank.measures.ee_disparity import EE_DISPARITY
from evenrank.measures.ee_items import ITEM_DISPARITY, ITEM_LOSS, ITEM_RELEVANCE
from evenrank.measures.ee_loss import EE_LOSS
from evenrank.measures.ee_relevance import EE_RELEVANCE
from evenrank.measures.ee_share import EE_SHARE
from evenrank.measures.exposure_ratio import EXPOSURE_RATIO, IMPACT_RATIO
from evenrank.measures.gini import GINI
from evenrank.measures.measure import Measure
from evenrank.measures.ndcg import NDCG
from evenrank.measures.precision import PRECISION
from evenrank.measures.prefix_parity import MAX_SKEW, MIN_SKEW, NDKL, RKL, RND
from evenrank.measures.score import SCORE
from evenrank.measures.underexposure import L2_UNDEREXPOSURE, TOTAL_UNDEREXPOSURE

MEASURES: tuple[Measure, ...] = (
    EE_LOSS,
    EE_DISPARITY,
    EE_RELEVANCE,
    EE_SHARE,
    NDCG,
    AWRF,
    SCORE,
    PRECISION,
    ITEM_LOSS,
    ITEM_DISPARITY,
    ITEM_RELEVANCE,
    L2_UNDEREXPOSURE,
    TOTAL_UNDEREXPOSURE,
    SHOWN,
    DISTINCT,
    GINI,
    EXPOSURE_RATIO,
    IMPACT_RATIO,
    KL,
    AWRF_HELLINGER,
    AWRF_TOTAL_VARIATION,
    AWRF_ORDINAL,
    NDKL,
    RKL,
    RND,
    MIN_SKEW,
    MAX_SKEW,
)
MAX_DEPTH = 1_000_000
MAIN: dict[Task, Measure] = {1: SCORE, 2: EE_LOSS}
"""The official measure of each task, on which runs are ordered and intervals are made."""


def measures_of(task: Task) -> tuple[Measure, ...]:
    """The measures of one task that are computed by default, in table order."""
    return tuple(measure for measure in MEASURES if task in measure.tasks and not measure.on_request)


def chosen_measures(names: Iterable[str] | str, task: Task) -> tuple[Measure, ...]:
    """The measures that are named, those of a task alone; by default the usual ones, `all` for every one.

    The main measure of the task is always among them, because runs are ordered by it. A name that belongs to the
    other task is passed over; a name of no task is an error.
    """
    listed = [part.strip() for part in names.split(",")] if isinstance(names, str) else list(names)
    if not listed or listed == [""]:
        return measures_of(task)
    if listed == ["all"]:
        return tuple(measure for measure in MEASURES if task in measure.tasks)
    named = [found for name in listed if (found := _find(name, task)) is not None]
    main = [] if any(measure.key == MAIN[task].key for measure in named) else [MAIN[task]]
    return tuple({measure.key: measure for measure in [*named, *main]}.values())


def _find(name: str, task: Task) -> Measure | None:
    """The measure of a task by its name; None when it is one of another task only."""
    other: Task = 2 if task == 1 else 1
    try:
        return measure_named(name, task)
    except EvenrankError:
        with suppress(EvenrankError):
            measure_named(name, other)
            return None
        raise


def measure_named(name: str, task: Task) -> Measure:
    """The measure of that name, with a depth after `@` if there is one; EvenrankError when the task has none."""
    plain, _, depth = name.partition("@")
    known = {measure.name.casefold(): measure for measure in MEASURES if task in measure.tasks}
    found = known.get(plain.strip().casefold())
    if found is None:
        raise UnknownNameError(f"measure of Task {task}", plain, [measure.name for measure in known.values()])
    if "@" not in name:
        return found
    if not (depth.isascii() and depth.isdigit() and 0 < int(depth) <= MAX_DEPTH):
        raise EvenrankError(f"measure {name!r}: the depth after @ is not a whole number from 1 to {MAX_DEPTH:,}")
    return found.at(int(depth))
