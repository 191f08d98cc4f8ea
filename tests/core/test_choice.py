"""Where targets come from: words, tables with all their faults, and restrictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenrank.core.groups import GroupSpace
from evenrank.core.target import group_target
from evenrank.errors import EvenrankError, InputError, UnknownNameError, WrongTypeError
from evenrank.trec.dimensions import FIRST_LETTER, GENDER, GEOGRAPHY
from evenrank.trec.target_choice import TARGET_WORDS, TargetChoice, choose_target, target_from

PLACES = GroupSpace((GEOGRAPHY,))
BOTH = GroupSpace((GEOGRAPHY, GENDER))


def mass(seed: int = 1, space: GroupSpace = BOTH) -> np.ndarray:
    return np.random.default_rng(seed).gamma(0.5, size=space.n_groups)


@pytest.mark.parametrize("word", TARGET_WORDS)
@pytest.mark.parametrize("keep_unknown", [False, True])
def test_every_word_gives_a_distribution_with_the_field_in_its_sections(word: str, keep_unknown: bool) -> None:
    field = mass()
    values = target_from(choose_target(word), field, BOTH, keep_unknown=keep_unknown)
    assert values.sum() == pytest.approx(1.0)
    assert values.min() >= 0.0
    assert (values[0] > 0.0) == keep_unknown
    counted = field.copy()
    counted[0] *= keep_unknown
    known = (counted / counted.sum()).reshape(8, 4)[1:, 1:].sum()
    assert values.reshape(8, 4)[1:, 1:].sum() == pytest.approx(known)


def test_the_track_target_is_half_the_field_and_half_the_world() -> None:
    field = mass()
    at = {word: target_from(choose_target(word), field, BOTH, keep_unknown=True) for word in TARGET_WORDS}
    assert np.array_equal(at["track"], group_target(field, BOTH, keep_unknown=True))
    assert at["track"] == pytest.approx(0.5 * at["field"] + 0.5 * at["world"])
    assert at["world"].reshape(8, 4)[1:, 0] / at["world"].reshape(8, 4)[1:, 0].sum() == pytest.approx(
        np.array(GEOGRAPHY.background) / sum(GEOGRAPHY.background)
    )
    assert len(set(at["equal"].reshape(8, 4)[1:, 1:].round(12).flat)) == 1


def test_without_any_field_the_world_is_the_target() -> None:
    values = target_from(choose_target("field"), np.zeros(8), PLACES, keep_unknown=False)
    assert values[1:] == pytest.approx(np.array(GEOGRAPHY.background), abs=1e-6)


def test_a_restriction_leaves_its_groups_alone() -> None:
    within = np.array([name in ("Africa", "Asia") for name in GEOGRAPHY.groups])
    values = target_from(choose_target("track"), mass(space=PLACES), PLACES, keep_unknown=False, within=within)
    assert values.sum() == pytest.approx(1.0)
    assert (values[~within] == 0.0).all()


def test_a_table_of_one_dimension(tmp_path: Path) -> None:
    path = tmp_path / "africa-first.csv"
    path.write_text("group,share\nAfrica,0.5\nasia,0.3\nEurope,0.2\n", encoding="utf-8")
    choice = choose_target(path)
    assert (choice.word, choice.dimensions) == ("africa-first.csv", ("geography",))
    values = target_from(choice, mass(space=PLACES), PLACES, keep_unknown=False)
    assert dict(zip(GEOGRAPHY.groups, values.tolist(), strict=True))["Asia"] == pytest.approx(0.3)
    with pytest.raises(EvenrankError, match="set information to geography"):
        target_from(choice, mass(), BOTH, keep_unknown=False)


def test_a_table_of_two_dimensions(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("Africa|female\t0.25\nAfrica|male\t0.25\nAsia|unknown\t0.5\n", encoding="utf-8")
    choice = choose_target(path)
    assert choice.dimensions == ("geography", "gender")
    assert target_from(choice, mass(), BOTH, keep_unknown=False).sum() == pytest.approx(1.0)


def test_all_faults_of_a_table_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("Africa\t0.5\nAtlantis\t0.7\nAfrica\tmuch\nEurope\t-1\nAfrica\t0.1\n", encoding="utf-8")
    with pytest.raises(InputError) as raised:
        choose_target(path)
    assert [(fault.line, fault.found) for fault in raised.value.faults] == [
        (2, "no group 'Atlantis'"),
        (3, "'Africa  much'"),
        (4, "the share of Europe is -1"),
        (5, "Africa again"),
    ]


@pytest.mark.parametrize("text, said", [("Africa\t0.5\nAsia\t0.2\n", "the shares sum to 0.7"), ("", "no groups")])
def test_tables_that_are_no_distribution(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        choose_target(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"|".join([b"female"] * 40) + b",1\n", "joins groups of gender, gender"),
        (b"|".join([b"x"] * 5000) + b",1\n", "joins groups of"),
        (b"female\xff,1\n", "cannot be read"),
        (b"female,0.5\nmale,0.5\n" + b"\n" * (1 << 20), "more than 1,048,576 bytes"),
        (b'"' + b"x" * 200_000 + b'",1\n', "not a table"),
    ],
)
def test_tables_made_to_do_harm(tmp_path: Path, content: bytes, said: str) -> None:
    """Forty names joined by | made every combination of forty dimensions, until the memory was full."""
    (tmp_path / "target.csv").write_bytes(content)
    with pytest.raises(InputError, match=said):
        choose_target(tmp_path / "target.csv")


def test_neither_a_word_nor_a_file() -> None:
    with pytest.raises(EvenrankError, match=r"no target 'fair'.*track, field, equal, world"):
        choose_target("fair")


def test_equal_leaves_out_groups_that_the_field_does_not_have() -> None:
    field = np.array(
        [30.0, 5.0, 0.0, 10.0, 40.0, 6.0, 0.4, 20.0]
    )  # Northern America has half a percent, Antarctica nothing
    values = target_from(choose_target("equal"), field, PLACES, keep_unknown=False)
    assert values.tolist() == [0.0, 0.2, 0.0, 0.2, 0.2, 0.2, 0.0, 0.2]
    in_part = np.array([30.0, 9.0, 0.0, 12.0, 60.0, 9.0, 2.0, 0.5])  # one page is about Oceania and another region
    values = target_from(choose_target("equal"), field, PLACES, keep_unknown=False, n_pages=in_part)
    assert values.tolist() == [0.0, 0.25, 0.0, 0.25, 0.25, 0.25, 0.0, 0.0]


def test_equal_is_the_same_for_all_groups_where_nothing_is_known_of_them() -> None:
    field = np.zeros((8, 4))
    field[4, 0] = 1.0
    values = target_from(choose_target("equal"), field.reshape(-1), BOTH, keep_unknown=False).reshape(8, 4)
    assert values[:, 0].tolist() == [0, 0, 0, 0, 1, 0, 0, 0]
    assert not values[:, 1:].any()


@pytest.mark.parametrize(
    ("people", "shares"),
    [
        ((40, 20, 0), (0.5, 0.5, 0.0)),
        ((40, 20, 4), (0.5, 0.5, 0.0)),  # as without those four people
        ((40, 20, 5), (1 / 3, 1 / 3, 1 / 3)),
        ((40, 0, 0), (1.0, 0.0, 0.0)),
        ((20, 0, 0), (1.0, 0.0, 0.0)),
        ((19, 0, 0), (1 / 3, 1 / 3, 1 / 3)),  # that all of so few are men is not told
        ((40, 4, 0), (1 / 3, 1 / 3, 1 / 3)),  # nobody is left out, and the few are not told apart
        ((3, 2, 0), (1 / 3, 1 / 3, 1 / 3)),
    ],
)
def test_equal_tells_nothing_about_few_people(people: tuple[int, ...], shares: tuple[float, ...]) -> None:
    counts = np.array([100.0, *people])
    space = GroupSpace((GENDER,))
    values = target_from(choose_target("equal"), 0.5 * counts, space, keep_unknown=False, n_pages=counts)
    assert values[1:] == pytest.approx(np.array(shares))


def test_equal_in_a_dimension_without_an_unknown_group() -> None:
    space = GroupSpace((FIRST_LETTER,))
    field = np.arange(1.0, 1.0 + space.n_groups)
    values = target_from(choose_target("equal"), field, space, keep_unknown=True)
    assert values == pytest.approx(np.full(space.n_groups, 1.0 / space.n_groups))


@pytest.mark.parametrize(
    "given",
    [
        {"Africa": 0.5, "asia": 0.3, "Europe": 0.2},
        {"geography": {"Africa": 0.5, "Asia": 0.3, "Europe": 0.2}},
        {"Africa": np.float32(0.5), "Asia": 0.301, "Europe": 0.2},
    ],
)
def test_a_mapping_means_what_a_table_means(given: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "target.csv"
    path.write_text("Africa,0.5\nAsia,0.3\nEurope,0.2\n")
    table, choice = choose_target(path), choose_target(given)
    assert choice.dimensions == table.dimensions == ("geography",)
    assert [group for group, _ in choice.shares] == [group for group, _ in table.shares]
    assert [share for _, share in choice.shares] == pytest.approx([share for _, share in table.shares], abs=0.001)
    assert sum(share for _, share in choice.shares) == pytest.approx(1.0)
    assert choose_target(choice) is choice


def test_shares_of_several_dimensions_are_multiplied() -> None:
    places, people = {"Africa": 0.25, "Asia": 0.75}, {"female": 0.5, "male": 0.5}
    choice = choose_target({"geography": places, "gender": people})
    joint = choose_target({f"{a}|{b}": x * y for a, x in places.items() for b, y in people.items()})
    assert choice == joint
    assert choice.dimensions == ("geography", "gender")
    assert dict(choice.shares)["Asia|female"] == 0.375


@pytest.mark.parametrize(
    "given, said",
    [
        ({"Africa": 0.5, "Atlantis": 0.5}, ["target: no group 'Atlantis' (choose from Unknown, Africa"]),
        ({"Africa": -2, "Asia": "much", "africa": True}, ["Africa is -2", "Asia is 'much'", "africa again", "is True"]),
        ({"Africa": 0.5}, ["the shares sum to 0.5 (they must sum to 1)"]),
        ({}, ["target: no groups"]),
        ({"geography": {}}, ["target, geography: no groups"]),
        ({"place": {"Africa": 1.0}, "gender": 3}, ["no dimension 'place'", "target, gender: 3 is not a dict"]),
        ({"geography": {"Mars": 1.0}, "gender": {"male": 0.5}}, ["no group 'Mars'", "gender: the shares sum to 0.5"]),
        ({"Africa": float("nan")}, ["the share of Africa is nan"]),
    ],
)
def test_a_wrong_mapping_has_the_errors_of_a_table(given: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        choose_target(given)
    assert [part for part in said if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    "given, kind", [(3, WrongTypeError), (None, WrongTypeError), (TargetChoice("fair"), UnknownNameError)]
)
def test_what_is_no_target_is_refused(given: Any, kind: type[EvenrankError]) -> None:
    with pytest.raises(kind):
        choose_target(given)


def test_a_choice_made_in_python_is_checked() -> None:
    with pytest.raises(InputError, match="no group 'Mars'"):
        choose_target(TargetChoice("mine", ("geography",), (("Mars", 1.0),)))


def test_a_choice_made_in_python_is_checked_and_put_in_order() -> None:
    made = choose_target(TargetChoice("mine", ("geography",), (("africa", 0.499), ("Asia", 0.499))))
    assert made.shares == (("Africa", 0.5), ("Asia", 0.5))
    with pytest.raises(InputError, match="Africa again"):
        choose_target(TargetChoice("mine", ("geography",), (("Africa", 0.5), ("Africa", 0.5))))
    with pytest.raises(InputError, match="not pairs"):
        choose_target(TargetChoice("mine", ("geography",), (("Africa", 0.5, 1),)))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="give one from 0 to 1"):
        choose_target({"Africa": 10**400})
    with pytest.raises(EvenrankError, match="no target 'aaa"):
        choose_target("a" * 5000)
