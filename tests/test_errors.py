"""Errors reach the caller whole, even from another process."""

from __future__ import annotations

import pickle

import pytest

from evenrank.errors import EvenrankError, Fault, InputError, MissingExtraError, StoreUnavailableError, UnknownNameError

ERRORS = {
    EvenrankError("no run to score"): "no run to score",
    UnknownNameError("policy", "fair", iter(["relevance", "mmr"])): "unknown policy 'fair'; choose from relevance, mmr",
    UnknownNameError("setting", "x", []): "unknown setting 'x'; choose from (none)",
    MissingExtraError("a figure", "report"): (
        "a figure needs the extra 'report': pip install 'evenrank[report]' (in the sources: pip install '.[report]')"
    ),
    StoreUnavailableError("desk.sqlite", "the disk is full"): (
        "desk.sqlite: not stored: the disk is full (nothing was changed: make room or wait, then try again)"
    ),
    InputError([Fault("a.tsv", 3, "no rank", "add it")], 1200): (
        "a.tsv:3: no rank (add it)\n… and 1,200 more faults of these kinds"
    ),
}


@pytest.mark.parametrize("error,text", ERRORS.items(), ids=[type(error).__name__ for error in ERRORS])
def test_text_survives_pickling(error: EvenrankError, text: str) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(error) == str(copy) == text
    assert getattr(copy, "faults", None) == getattr(error, "faults", None)
