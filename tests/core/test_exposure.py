"""Attention models: worked by hand, properties, and what is said of bad ones."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.core.exposure import (
    FORMULAS,
    AttentionTable,
    Cascade,
    Formula,
    Geometric,
    block_exposure,
    discounts,
    page_attention,
    parse_attention,
)
from evenrank.errors import EvenrankError, InputError, UnknownNameError, WrongTypeError

THIRD = 1 / math.log2(3)


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("log", [1.0, 1.0, THIRD, 0.5]),
        ("dcg", [1.0, THIRD, 0.5, 1 / math.log2(5)]),
        ("reciprocal", [1.0, 1 / 2, 1 / 3, 1 / 4]),
        ("uniform", [1.0, 1.0, 1.0, 1.0]),
        ("rbp", [1.0, 0.8, 0.64, 0.512]),
        ("rbp:0.5", [1.0, 0.5, 0.25, 0.125]),
        ("rbp(0.5)", [1.0, 0.5, 0.25, 0.125]),
        ("gerr:0.8,0.5", [1.0, 0.4, 0.16, 0.064]),
        ("gerr", [1.0, 0.4, 0.16, 0.064]),
        ("gerr(0.5)", [1.0, 0.25, 0.0625, 0.015625]),
        ("table:3,1e-1", [3.0, 0.1, 0.0, 0.0]),
        (" table:1, .5, 2, 0, 7", [1.0, 0.5, 2.0, 0.0]),
    ],
)
def test_weights_of_four_ranks(text: str, weights: list[float]) -> None:
    model = parse_attention(text)
    assert model.weights(4).tolist() == pytest.approx(weights, rel=1e-15)
    assert model.weights(4, np.float32).dtype == np.float32
    assert model.weights(0).tolist() == []
    assert parse_attention(str(model)) == model


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_is_the_discount_of_the_track_to_the_last_bit(dtype: type) -> None:
    assert parse_attention("log").weights(1000, dtype).tobytes() == discounts(1000, dtype).tobytes()


models = st.one_of(
    st.sampled_from([Formula(name) for name in FORMULAS]),
    st.floats(1e-6, 1 - 1e-6).map(Geometric),
    st.lists(st.floats(0, 1e6)).map(lambda values: AttentionTable(tuple(sorted([1.0, *values], reverse=True)))),
)


@given(models, st.integers(1, 1200))
def test_weights_are_non_negative_and_fall(model: Formula | Geometric | AttentionTable, n_ranks: int) -> None:
    weights = model.weights(n_ranks)
    assert weights.shape == (n_ranks,)
    assert np.isfinite(weights).all()
    assert (weights >= 0.0).all()
    assert weights[0] > 0.0
    assert (np.diff(weights) <= 0.0).all()
    assert model.weights(n_ranks + 7)[:n_ranks].tolist() == weights.tolist()
    assert parse_attention(str(model)) == model


def expected_exposure(
    rankings: list[list[str]], relevant: set[str], patience: float, utility: float
) -> dict[str, float]:
    """Exposure of items under a cascade (Diaz et al. 2020), item by item; RBP has utility 0."""
    exposure: dict[str, float] = {}
    for ranking in rankings:
        seen = 0
        for rank, item in enumerate(ranking):
            gain = patience**rank * (1 - utility) ** seen / len(rankings)
            exposure[item] = exposure.get(item, 0.0) + gain
            seen += item in relevant
    return exposure


@pytest.mark.parametrize(("model", "utility"), [("rbp:0.7", 0.0), ("gerr:0.7,0.6", 0.6), ("gerr:0.7,0", 0.0)])
def test_attention_of_pages_in_a_cascade(model: str, utility: float) -> None:
    rankings = [list("abcde"), list("edcab"), list("b")]
    relevant = set("ace")
    items = [item for ranking in rankings for item in ranking]
    given = page_attention(
        parse_attention(model),
        np.array([rank for ranking in rankings for rank in range(len(ranking))]),
        np.repeat(np.arange(3), [len(ranking) for ranking in rankings]),
        np.array([item in relevant for item in items]),
    )
    for item, wanted in expected_exposure(rankings, relevant, 0.7, utility).items():
        mean = sum(value for value, name in zip(given.tolist(), items, strict=True) if name == item) / 3
        assert mean == pytest.approx(wanted, rel=1e-14)


def test_no_pages_get_no_attention() -> None:
    nothing = np.empty(0, np.intp)
    assert len(page_attention(Cascade(), nothing, nothing, np.empty(0, bool))) == 0


def test_ideal_exposure_under_a_cascade_is_the_closed_form() -> None:
    """Of m relevant pages after b others: (q^b − q^(b + m)) / (m (1 − q)), with q = patience × (1 − utility)."""
    q = 0.8 * 0.5
    found = block_exposure(np.array([3, 4]), attention=Cascade(0.8, 0.5))
    closed = [(q**b - q ** (b + m)) / (m * (1 - q)) for b, m in ((0, 3), (3, 4))]
    assert found.tolist() == pytest.approx(closed, rel=1e-14)


def test_ideal_exposure_of_blocks() -> None:
    """Two pages share the attention of ranks 1 and 2, one has that of rank 3."""
    counts = np.array([2, 0, 1])
    assert block_exposure(counts, attention=Geometric(0.5)).tolist() == [0.75, 0.0, 0.25]
    assert block_exposure(counts, attention=AttentionTable((4.0, 2.0))).tolist() == [3.0, 0.0, 0.0]
    assert block_exposure(counts).tolist() == pytest.approx([1.0, 0.0, THIRD])


def test_weights_from_python() -> None:
    assert parse_attention([2, np.float32(0.5)]) == AttentionTable((2.0, 0.5))
    assert parse_attention(np.array([2.0, 0.5])) == AttentionTable((2.0, 0.5))
    assert parse_attention(Geometric(0.3)) == Geometric(0.3)


def test_table_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "weights.txt"
    path.write_bytes(b"\xef\xbb\xbf1\r\n 0.5\r\n0\r\n\r\n")
    assert parse_attention(f"table:{path}") == AttentionTable((1.0, 0.5, 0.0))


def test_every_wrong_line_of_a_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "weights.txt"
    path.write_bytes(b"1\nhalf\n\n-1\nnan\n1e999\n1_0\n\xff\n0.5\n")
    with pytest.raises(InputError) as caught:
        parse_attention(f"table:{path}")
    assert [fault.line for fault in caught.value.faults] == [2, 3, 4, 5, 6, 7, 8]
    assert f"{path}:2: 'half' is not a weight (weights are numbers from 0 to 1,000,000)" in str(caught.value)
    path.write_text("x\n" * 50)
    with pytest.raises(InputError, match="and 30 more faults"):
        parse_attention(f"table:{path}")


@pytest.mark.parametrize(("content", "said"), [("", "'' is not a weight"), ("0\n1\n", "txt:1: rank 1 has 0.0")])
def test_file_without_attention(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "weights.txt"
    path.write_text(content)
    with pytest.raises(InputError, match=said):
        parse_attention(f"table:{path}")


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        ("rpb", UnknownNameError, "choose from log, dcg, reciprocal, uniform, rbp, gerr, table"),
        ("", UnknownNameError, "unknown attention model ''"),
        ("rbp:2", EvenrankError, "'rbp:2.0': the persistence must lie between 0 and 1"),
        ("rbp:0", EvenrankError, "between 0 and 1"),
        ("rbp:", EvenrankError, "'' is not a number"),
        ("rbp:nan", EvenrankError, "'nan' is not a number"),
        ("rbp(high)", EvenrankError, "'high' is not a number"),
        ("log:2", EvenrankError, "log has no parameter"),
        ("table", EvenrankError, "no file is named"),
        ("table:no/such/file", InputError, "no/such/file: cannot be read: No such file"),
        ("table:a\0b", InputError, "cannot be read"),
        ("table:.", InputError, "cannot be read: Is a directory"),
        ("gerr:0.5,1", EvenrankError, "satisfaction from 0 to below 1"),
        ("gerr:0.5,x", EvenrankError, "is not two numbers .write gerr:0.8,0.5"),
        ("table:1,-1,2,-3", EvenrankError, "rank 2 has -1.0, rank 4 has -3.0"),
        ([1.0, float("nan"), "x", True], EvenrankError, "rank 2 has nan, rank 3 has 'x', rank 4 has True"),
        ([1, 2e6, 10**400], EvenrankError, "rank 2 has 2000000.0, rank 3 has 1000"),
        ([-1] * 25, EvenrankError, "and 5 more"),
        ([[1.0], [2.0]], EvenrankError, r"rank 1 has \[1.0\]"),
        ([0, 1], EvenrankError, "rank 1 has 0.0 .give rank 1 a weight of at least 0.000001"),
        ([], EvenrankError, "rank 1 has no weight"),
        (3, WrongTypeError, "give log, dcg"),
        (None, WrongTypeError, "attention: None is not accepted"),
    ],
)
def test_bad_models_are_explained(wrong: object, kind: type[EvenrankError], said: str) -> None:
    with pytest.raises(kind, match=said):
        parse_attention(wrong)
