"""Do the parts of a learned model fit together? A file may have been edited, cut, or put together by hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evenrank.search.learn.calibration import Calibration
from evenrank.search.learn.cross_validation import CrossFit
from evenrank.search.learn.learned_model import LearnedState
from evenrank.search.learn.ranker import Ranker


def faults(state: LearnedState) -> list[str]:
    """What is wrong with a model; empty for every model that training leaves behind."""
    found = [f"cross_fit: {fault}" for fault in _of_fit(state.cross_fit)]
    if state.rest is not None:
        found += [f"rest: {fault}" for fault in _of_fit(state.rest)]
    found += [f"calibration: {fault}" for fault in _of_calibration(state.calibration)]
    if state.n_pages < 1 or (state.n_rescored is not None and state.n_rescored < 1):
        found.append("n_pages and n_rescored must be at least 1")
    if len({state.n_rescored is None, state.rest is None, state.encoder is None}) > 1:
        found.append("only some of n_rescored, rest and encoder are there")
    if state.cross_encoder is not None and state.encoder is None:
        found.append("a cross-encoder without an encoder")
    return found


def _of_fit(fit: CrossFit) -> Iterator[str]:
    if not fit.folds:
        yield "no folds"
    for at, fold in enumerate(fit.folds):
        yield from (f"fold {at}: {fault}" for fault in _of_ranker(fold.ranker))


def _of_ranker(ranker: Ranker) -> Iterator[str]:
    n_names, line = len(ranker.feature_names), ranker.line
    if not n_names or {len(line.means), len(line.slopes)} != {n_names}:
        yield f"{n_names} features, {len(line.means)} means and {len(line.slopes)} slopes"
    if ranker.line_weight < 0.0:
        yield f"line_weight is {ranker.line_weight:g}"
    try:
        n_features = ranker.trees.n_features
    except ValueError as error:
        yield str(error)
    else:
        if n_features != [n_names] * max(len(n_features), 1):
            yield f"{n_names} features, and trees of {n_features or 'none'}"


def _of_calibration(calibration: Calibration) -> Iterator[str]:
    n_wanted = 2 if calibration.settings.scale == "shared" else 3
    if len(calibration.coefficients) != n_wanted:
        yield f"{len(calibration.coefficients)} coefficients, not {n_wanted}"
    if not 0.0 <= calibration.prior <= 1.0:
        yield f"a prior of {calibration.prior:g}"
    if len(calibration.knots) != len(calibration.values):
        yield f"{len(calibration.knots)} knots and {len(calibration.values)} values"
    if (np.diff(calibration.knots) < 0.0).any() or (np.diff(calibration.values) < 0.0).any():
        yield "knots and values must rise"
