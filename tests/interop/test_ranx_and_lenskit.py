"""Fair rankings as objects of ranx and LensKit; LensKit itself is tried by the long tests of distributions."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

import evenrank
from evenrank.errors import MissingExtraError
from evenrank.interop.lenskit_lists import rerank_list, to_lenskit
from evenrank.interop.ranx_runs import to_ranx
from evenrank.io.runs import read_run

RUN = {"q1": {"a": 0.9, "b": 0.88, "c": 0.86}, "q2": {"b": 0.7, "a": 0.69, "c": 0.68}}
GROUPS = {"a": "large", "b": "large", "c": "small"}


def test_a_run_of_ranx_has_the_fair_order() -> None:
    fair = evenrank.rerank(RUN, GROUPS, target="equal")
    made = to_ranx(fair, "fair")
    assert made.name == "fair"
    again = evenrank.score(made, GROUPS, target="equal")
    assert again.scores == pytest.approx(evenrank.score(fair.to_dict(), GROUPS, target="equal").scores)


def test_a_run_of_the_track_becomes_one_of_ranx(golden_runs) -> None:
    run = read_run(golden_runs[0])
    made = to_ranx(run)
    topic, _, pages = next(run.rankings())
    scores = made.to_dict()[str(topic)]
    assert sorted(scores, key=scores.__getitem__, reverse=True) == [str(page) for page in pages.tolist()]


@pytest.mark.skipif(find_spec("lenskit") is not None, reason="LensKit is installed here")
def test_without_lenskit_the_error_names_the_extra() -> None:
    fair = evenrank.rerank(RUN, GROUPS, target="equal")
    for use in (lambda: to_lenskit(fair), lambda: rerank_list(None, GROUPS)):
        with pytest.raises(MissingExtraError, match="lenskit"):
            use()
