"""Certificates by query, packed in blocks: what goes in comes out, and little is kept of what repeats."""

from __future__ import annotations

import numpy as np

from evenrank.ranking.reranked import ROWS_AT_ONCE, PackedRows, QueryCertificates

N_QUERIES = 2 * ROWS_AT_ONCE + 100


def test_certificates_of_several_forms_come_back_as_they_were() -> None:
    numbers = np.random.default_rng(7).random((N_QUERIES, 3)).tolist()
    forms = [("score", "gap", "AWRF"), ("gap", "score", "AWRF@5"), ()]
    given = [dict(zip(forms[at % 5 // 2], row, strict=False)) for at, row in enumerate(numbers)]
    kept = QueryCertificates([f"q{at}" for at in range(N_QUERIES)])
    for one in given:
        kept.append(one)
    assert [certificate for _, certificate in kept.pairs()] == given
    assert [list(certificate) for _, certificate in kept.pairs()] == [list(one) for one in given]
    assert kept[f"q{ROWS_AT_ONCE}"] == given[ROWS_AT_ONCE]
    filled = [one for one in given if one]
    assert kept.mean() == {name: float(np.mean([one[name] for one in filled])) for name in ("score", "gap")}


def test_certificates_that_are_all_empty_have_no_mean() -> None:
    kept = QueryCertificates(["q"])
    assert kept.mean() == {}
    kept.append({})
    assert kept.mean() == {}
    assert kept["q"] == {}


def test_columns_that_repeat_are_kept_once() -> None:
    names = tuple(f"number {at}" for at in range(15))
    rows = PackedRows(names)
    for value in np.random.default_rng(8).random(4 * ROWS_AT_ONCE).tolist():
        rows.append([value, *[1.0] * 7, *[value] * 7])
    distinct = {id(column): len(column) for block in rows.blocks for column in block}
    assert len(rows.blocks) == 4
    assert sum(distinct.values()) < 4 * ROWS_AT_ONCE * 10  # bytes; 15 columns of doubles take 120 for each row
