"""Do the parts of a learned model fit together? A file may have been edited, cut, or put together by hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evenrank.retrieval.learn.calibration import Calibration
from evenrank.retrieval.learn.cross_validation import CrossFit
from evenrank.retrieval.learn.learned_model import LearnedState


def faults(state: LearnedState) -> list[str]:
    """What is wrong with a model; empty for every model that training leaves behind."""
    found = [f"cross_fit: {fault}" for fault in _of_fit(state.cross_fit)]
    found += [f"plain: {fault}" for fault in _of_fit(state.plain)]
    found += [f"calibration: {fault}" for fault in _of_calibration(state.calibration)]
    if state.n_pages < 1:
        found.append("n_pages must be at least 1")
    if not len(state.count.residuals) or (np.diff(state.count.residuals) < 0.0).any():
        found.append("count: residuals must be there, and rise")
    has_vectors = any("topic_vector" in fold.line.feature_names for fold in state.cross_fit.folds)
    if has_vectors != (state.encoder is not None):
        found.append("vectors without an encoder, or an encoder without vectors")
    if state.cross_encoder is not None and state.encoder is None:
        found.append("a cross-encoder without an encoder")
    return found


def _of_fit(fit: CrossFit) -> Iterator[str]:
    if not fit.folds:
        yield "no folds"
    for at, fold in enumerate(fit.folds):
        n_names, n_slopes = len(fold.line.feature_names), len(fold.line.slopes)
        if not n_names or n_slopes != n_names:
            yield f"fold {at}: {n_names} features and {n_slopes} slopes"


def _of_calibration(calibration: Calibration) -> Iterator[str]:
    n_wanted = 2 if calibration.settings.scale == "shared" else 3
    if len(calibration.coefficients) != n_wanted:
        yield f"{len(calibration.coefficients)} coefficients, not {n_wanted}"
    if not 0.0 <= calibration.prior <= 1.0:
        yield f"a prior of {calibration.prior:g}"
    if len(calibration.knots) != len(calibration.values):
        yield f"{len(calibration.knots)} knots and {len(calibration.values)} values"
    corners = np.array([0.0, *calibration.settings.corners, 1.0])
    if (np.diff(corners) <= 0.0).any():
        yield "corners must rise between 0 and 1"
    if (np.diff(calibration.knots) < 0.0).any() or (np.diff(calibration.values) < 0.0).any():
        yield "knots and values must rise"
