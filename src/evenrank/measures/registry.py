"""The list of measures, which plug-ins extend, and measures by name."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from inspect import unwrap

from evenrank.core.records import Task
from evenrank.errors import EvenrankError, UnknownNameError, WrongTypeError
from evenrank.measures import awrf, expected_exposure, prefix, relevance
from evenrank.measures.measure import Measure
from evenrank.plugins import Registry, check_takes

_BUILT_IN = (
    expected_exposure.EE_LOSS,
    expected_exposure.EE_DISPARITY,
    expected_exposure.EE_RELEVANCE,
    expected_exposure.EE_SHARE,
    relevance.NDCG,
    awrf.AWRF,
    awrf.SCORE,
    relevance.PRECISION,
    relevance.RECALL,
    relevance.AVERAGE_PRECISION,
    relevance.RECIPROCAL_RANK,
    relevance.EXPECTED_RECIPROCAL_RANK,
    relevance.INTENTWISE_UTILITY,
    relevance.RANK_BIASED_PRECISION,
    expected_exposure.ITEM_LOSS,
    expected_exposure.ITEM_DISPARITY,
    expected_exposure.ITEM_RELEVANCE,
    expected_exposure.NORMALISED_LOSS,
    expected_exposure.NORMALISED_DISPARITY,
    expected_exposure.NORMALISED_RELEVANCE,
    expected_exposure.L2_UNDEREXPOSURE,
    expected_exposure.TOTAL_UNDEREXPOSURE,
    relevance.SHOWN,
    relevance.DISTINCT,
    expected_exposure.GINI,
    expected_exposure.EXPOSURE_RATIO,
    expected_exposure.IMPACT_RATIO,
    awrf.KL,
    awrf.L2_UNFAIRNESS,
    awrf.AWRF_HELLINGER,
    awrf.AWRF_TOTAL_VARIATION,
    awrf.AWRF_ORDINAL,
    prefix.NDKL,
    prefix.RKL,
    prefix.RND,
    prefix.GROUP_FAIRNESS,
    prefix.GROUP_FAIRNESS_NMD,
    prefix.GROUP_FAIRNESS_RNOD,
    prefix.MIN_SKEW,
    prefix.MAX_SKEW,
)


def _adopt(offered: object) -> tuple[str, Measure]:
    """The name and the measure that a plug-in offers."""
    if not isinstance(offered, Measure):
        raise TypeError(f"not a measure, but {type(offered).__name__} (decorate a function with evenrank.measure)")
    if (function := unwrap(offered.compute)) is not offered.compute:
        check_takes(function, "view")
    return offered.name, offered


MEASURES: Registry[Measure] = Registry("measures", {measure.name: measure for measure in _BUILT_IN}, _adopt)
"""Measures by name, in table order, those of plug-ins last."""
MAX_DEPTH = 1_000_000
MAIN: dict[Task, Measure] = {1: awrf.SCORE, 2: expected_exposure.EE_LOSS}
"""The official measure of each task, on which runs are ordered and intervals are made."""
Named = str | Measure
"""A measure, or its name with a depth after `@` if there is one."""


def measures_of(task: Task) -> tuple[Measure, ...]:
    """The measures of one task that are computed by default, in table order; those of plug-ins never are."""
    return tuple(one for one in MEASURES.builtin.values() if task in one.tasks and not one.on_request)


def listed_measures(given: Named | Iterable[Named] | None) -> list[Named]:
    """Names (which commas may join) and objects as a list; WrongTypeError for anything else."""
    if given is None or isinstance(given, Measure):
        return [] if given is None else [given]
    if isinstance(given, str):
        return [part.strip() for part in given.split(",")] if given.strip() else []
    if not isinstance(given, Iterable):
        raise WrongTypeError(given, "measures", "a name, a measure, or a list of these")
    return [named for one in given for named in (listed_measures(one) if isinstance(one, str) else [one])]


def chosen_measures(given: Named | Iterable[Named], task: Task) -> tuple[Measure, ...]:
    """The measures that are named, those of a task alone; by default the usual ones, `all` for every one.

    The main measure of the task is always among them, because runs are ordered by it. A name that belongs to the
    other task is passed over; a name of no task is an error.
    """
    listed = listed_measures(given)
    if not listed:
        return measures_of(task)
    if listed == ["all"]:
        return tuple(measure for measure in MEASURES.values() if task in measure.tasks)
    named = [found for one in listed if (found := _find(one, task)) is not None]
    main = [] if any(measure.key == MAIN[task].key for measure in named) else [MAIN[task]]
    return tuple({measure.key: measure for measure in [*named, *main]}.values())


def _find(given: Named, task: Task) -> Measure | None:
    """The measure of a task; None when it is one of another task only."""
    other: Task = 2 if task == 1 else 1
    try:
        return as_measure(given, task)
    except EvenrankError:
        with suppress(EvenrankError):
            as_measure(given, other)
            return None
        raise


def as_measure(given: Named, task: Task | None = None) -> Measure:
    """The measure that is meant by an object or a name (`nDCG@10`); EvenrankError when the task has none such.

    Whatever takes the name of a measure takes it through this function, and so takes an object, too.
    """
    if not isinstance(given, (str, Measure)):
        raise WrongTypeError(given, "measure", "a name such as nDCG@10, or a measure")
    plain, at, depth = given.partition("@") if isinstance(given, str) else (given.name, "", "")
    found = _named(plain) if isinstance(given, str) else given
    if found is None or (task is not None and task not in found.tasks):
        kind = "measure" if task is None else f"measure of Task {task}"
        known = [measure.name for measure in MEASURES.values() if task is None or task in measure.tasks]
        raise UnknownNameError(kind, plain, known)
    if not at:
        return found
    if not (depth.isascii() and depth.isdigit() and 0 < int(depth) <= MAX_DEPTH):
        raise EvenrankError(f"measure {given!r}: the depth after @ is not a whole number from 1 to {MAX_DEPTH:,}")
    return found.at(int(depth))


def _named(name: str) -> Measure | None:
    """The measure of a name, whatever its capitals; a built-in one is found without looking for plug-ins."""
    wanted = name.strip().casefold()
    for known in (MEASURES.builtin, MEASURES.plugins):
        if found := next((measure for one, measure in known.items() if one.casefold() == wanted), None):
            return found
    return None
