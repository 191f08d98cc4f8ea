"""The model of what is unknown in its file and text forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenrank.core.uncertainty import DimensionModel, ErrorTable, MissingGroups, Uncertainty, chosen_sources
from evenrank.errors import EvenrankError
from evenrank.io.assumptions import read_assumptions

TOML = """
[geography]
share = [0.5, 0.7]
odds = { Africa = 2, Asia = [1.5, 3] }
errors = { rate = 0.05, worth = 200 }

[gender]
rate = { female = 0.3, male = 0.2, third = 0.5 }

[judgments]
tagging = 0.6

[target]
blend = [0.4, 0.6]
"""


def test_a_file_a_dict_and_texts_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(TOML)
    model = read_assumptions(path)
    assert model.dimensions["geography"] == DimensionModel(
        MissingGroups((0.5, 0.7), {"Africa": (2.0, 2.0), "Asia": (1.5, 3.0)}), ErrorTable(0.05, worth=200.0)
    )
    assert model.judgments.tagging == (0.6, 0.6)
    texts = ["geography.share=0.5..0.7", "geography.odds.Africa=2", "geography.odds.Asia=1.5..3"]
    texts += ["geography.errors.rate=0.05", "geography.errors.worth=200", "judgments.tagging=0.6"]
    texts += ["gender.rate.female=0.3", "gender.rate.male=0.2", "gender.rate.third=0.5", "target.blend=0.4..0.6"]
    assert read_assumptions(texts) == model
    assert read_assumptions([f"missing={path}"]) == model
    assert read_assumptions(["missing=random"]) == Uncertainty() == read_assumptions(None)


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(EvenrankError) as error:
        read_assumptions({"geography": {"rate": 2, "odd": 1}, "x": 3, "judgments": {"unjudged": "relevant"}})
    for place in ("geography.rate", "geography.odd", "x is", "judgments.unjudged"):
        assert place in str(error.value)
    with pytest.raises(EvenrankError) as error:
        read_assumptions({"geography": {"share": 2}})
    assert str(error.value).count("geography.share") == 1
    model = read_assumptions(["geography.odds.Mars=2", "weight.rate=0.1", "gender.rate.male=0.5"])
    with pytest.raises(EvenrankError) as error:
        model.check({"geography": ("Africa", "Asia"), "gender": ("female", "male")})
    for part in ("'Mars'", "'weight'", "no rate of female"):
        assert part in str(error.value)


def test_people_without_a_group_are_left_alone_unless_the_model_says_otherwise() -> None:
    assert Uncertainty().of("gender", is_personal=True).missing is None
    assert Uncertainty().of("geography").missing == MissingGroups()


def test_an_audit_becomes_errors_given_the_true_group() -> None:
    """100 of 1,000 recorded A are B in truth, no recorded B is A: of 1,100 true B, 100 are recorded as A."""
    table = ErrorTable(checked={"A": {"A": 9e8, "B": 1e8}, "B": {"B": 1e9}}, recorded={"A": 1000, "B": 1000})
    expected = np.array([[1.0, 0.0], [100 / 1100, 1000 / 1100]])
    assert table.expected(("A", "B")) == pytest.approx(expected, abs=1e-6)
    drawn = table.draw(("A", "B"), np.random.default_rng(1), 5)
    assert drawn == pytest.approx(np.broadcast_to(expected, (5, 2, 2)), abs=1e-3)


def test_names_of_sources() -> None:
    assert chosen_sources("missing, topics") == ("topics", "missing")
    assert len(chosen_sources("all")) == 5
    with pytest.raises(EvenrankError, match="choose from topics"):
        chosen_sources("weather")
