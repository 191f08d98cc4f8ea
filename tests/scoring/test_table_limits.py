"""Tables and settings that would fill the memory or overflow are refused in words."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

import evenrank
from evenrank.errors import EvenrankError, InputError
from evenrank.ranking.rerank import MAX_ITEMS

RANKINGS = {"q": ["a", "b"]}


def test_too_many_groupings() -> None:
    groups = {f"g{number}": {"a": "x", "b": "y"} for number in range(40)}
    with pytest.raises(EvenrankError, match=r"40 groupings, where up to 16 are measured together"):
        evenrank.score(RANKINGS, groups)


def test_too_many_intersections() -> None:
    groups = {f"g{n}": {f"i{item}": str(item // 4**n) for item in range(200)} | {"a": "0"} for n in range(4)}
    with pytest.raises(EvenrankError, match="intersections of groups are too many"):
        evenrank.score(RANKINGS, groups)


def test_a_depth_beyond_all_rankings() -> None:
    with pytest.raises(EvenrankError, match="k is 99999999999999999999"):
        evenrank.score(RANKINGS, {"a": "x", "b": "y"}, k=10**20 - 1)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b'query,item,rank\nq,"' + b"a" * 200_000 + b'",1\n', "the table cannot be read"),
        (b"query,item,rank,rank\nq,a,1,2\n", "column 'rank' appears twice"),
        (gzip.compress(b"q,a\n" * (20 << 20), 9, mtime=0), "hold a table that takes over"),
        (gzip.compress(b"query,item\nq,a\n", mtime=0)[:-9], "end in the middle"),
        (b"query,item,rank\nq,\xff,1\n", "not UTF-8"),
    ],
    ids=["a field without end", "a column twice", "a gzip bomb", "a gzip file cut short", "another encoding"],
)
def test_tables_that_cannot_be_read(tmp_path: Path, content: bytes, found: str) -> None:
    (tmp_path / "table").write_bytes(content)
    with pytest.raises(InputError, match=found):
        evenrank.score(tmp_path / "table", {"a": "x"})


def test_a_table_without_an_end() -> None:
    with pytest.raises(InputError, match="/dev/zero: a line of more than"):
        evenrank.score("/dev/zero", {"a": "x"})


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"target": {"x": 1e308, "y": 1e308}}, "target, group 'x': share is above 1e.100: 1e.308"),
        ({"relevance": {"q": {"a": 1e200}}}, "query 'q', item 'a': grade is above 1e.100: 1e.200"),
        ({"groups": {"a": {"x": 1e200}, "b": "y"}}, "item 'a', group 'x': share is above 1e.100: 1e.200"),
    ],
)
def test_numbers_whose_sums_would_overflow(arguments: dict[str, object], text: str) -> None:
    """Shares of 1e308 were taken for no target at all, after a warning of numpy."""
    with pytest.raises(InputError, match=text):
        evenrank.score(RANKINGS, **{"groups": {"a": "x", "b": "y"}, **arguments})


def test_numbers_of_tables_whose_sums_would_overflow(tmp_path: Path) -> None:
    (tmp_path / "target.csv").write_text("group,share\nx,1e308\ny,1e308\n")
    with pytest.raises(InputError, match=r"line 2: share is above 1e.100: '1e308'"):
        evenrank.score(RANKINGS, {"a": "x", "b": "y"}, target=tmp_path / "target.csv")
    (tmp_path / "target.csv").write_text("group,share\nx,0\n")
    with pytest.raises(InputError, match="grouping group: no share is above 0"):
        evenrank.rerank({"q": {"a": 1.0, "b": 0.5}}, {"a": "x", "b": "y"}, target=tmp_path / "target.csv")
    with pytest.raises(InputError, match=r"query 'q', item 'a': score is above 1e.100"):
        evenrank.rerank({"q": {"a": 1e308, "b": 1e308}}, {"a": "x", "b": "y"})


def test_settings_of_rerank_that_would_overflow() -> None:
    with pytest.raises(EvenrankError, match=r"fairness is 1e.308, but must be from 0 to 1e.09"):
        evenrank.rerank(RANKINGS, {"a": "x", "b": "y"}, settings={"fairness": 1e308})
    with pytest.raises(EvenrankError, match=r"n_rankings is 1000000000 .from 1 to 100,000"):
        evenrank.rerank(RANKINGS, {"a": "x", "b": "y"}, n_rankings=10**9)


def test_more_groups_than_anybody_compares() -> None:
    groups = {"item": [f"i{number}" for number in range(70_000)], "group": [f"g{number}" for number in range(70_000)]}
    with pytest.raises(EvenrankError, match="70,000 different groups of one grouping are too many"):
        evenrank.score(RANKINGS, pd.DataFrame(groups).astype(object))


def test_a_message_shows_a_few_columns_and_the_start_of_their_names(tmp_path: Path) -> None:
    """A name of 100,000 characters was shown in full."""
    (tmp_path / "table").write_text(",".join(["x" * 100_000, *(f"c{number}" for number in range(40))]) + "\n")
    with pytest.raises(EvenrankError, match=r"no column item .*the columns are: x{60}, c0, .*, c18, …\)$"):
        evenrank.score(tmp_path / "table", {"a": "x"})


def test_a_query_of_too_many_items_is_refused() -> None:
    """A table of 10 MB with one query took 1.3 GB."""
    items = {"p": {"a": 1.0}, "q": dict.fromkeys(range(MAX_ITEMS + 1), 0.5)}
    with pytest.raises(EvenrankError, match=r"query 'q' has 200,001 items \(give up to 200,000 of each query"):
        evenrank.rerank(
            {query: {str(item): one for item, one in of.items()} for query, of in items.items()}, {"a": "x"}
        )


def test_a_query_of_too_many_kinds_and_groups_is_refused() -> None:
    """80 kB with four thousand items in groups of their own took 1.3 GB."""
    groups = {f"i{number}": f"g{number}" for number in range(2000)}
    with pytest.raises(EvenrankError, match=r"query 'q' has items of 2,000 kinds over 2,001 groups \(merge small"):
        evenrank.rerank({"p": {"i1": 1.0}, "q": dict.fromkeys(groups, 0.5)}, groups)
    few = evenrank.rerank({"q": {"i1": 1.0, "i2": 0.5}}, groups, policy="relevance")
    assert few.to_dict() == {"q": ["i1", "i2"]}
