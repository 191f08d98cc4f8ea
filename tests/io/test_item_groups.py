"""Groups from tables: what is no name."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import evenrank
from evenrank.errors import InputError
from tests.scoring.test_score import RANKINGS


@pytest.mark.parametrize("others", [{"share": [1.0, 1.0]}, {"grouping": ["size", "size"]}])
@pytest.mark.parametrize("value", [["x"], {"x": 1}, {"x"}])
def test_groups_that_are_no_names(others: dict[str, Any], value: object) -> None:
    groups = pd.DataFrame({"item": ["a", "b"], "group": ["x", value], **others})
    with pytest.raises(InputError, match="row 2: group is neither a text nor a number"):
        evenrank.score(RANKINGS, groups)


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ([0.0, 1.0, None, 1.0], {"0", "1"}),
        ([True, False, False, True], {"True", "False"}),
        ([0.2, 0.8, 1.0, 0.0], {"band"}),
    ],
)
def test_whole_numbers_of_a_single_column_are_codes_and_no_shares(column: list[Any], names: set[str]) -> None:
    frame = pd.DataFrame({"item": list("abcd"), "band": column})
    scored = evenrank.score({"q": list("abcd")}, frame, {"q": ["a", "b"]}, measures="AWRF")
    assert {share.group for share in scored.shares} == names
