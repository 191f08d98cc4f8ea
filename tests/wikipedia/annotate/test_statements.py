"""Which values of a property count."""

from __future__ import annotations

from wikidata_sample import statement

from evenrank.io.wikidata import Point, best_statements, item_values, point_values, year_values


def test_preferred_beats_normal_and_deprecated_never_counts():
    ranks = [statement("P27", number, rank) for number, rank in ((1, "normal"), (2, "preferred"), (3, "deprecated"))]
    assert item_values(ranks) == [2]
    assert item_values(ranks[:1] + ranks[2:]) == [1]
    assert item_values(ranks[2:]) == []


def test_a_preferred_no_value_hides_normal_values():
    assert item_values([statement("P27", 1), statement("P27", kind="novalue", rank="preferred")]) == []


def test_unknown_and_missing_values_are_left_out():
    assert item_values([statement("P27", kind="somevalue"), statement("P27", 5), statement("P27", kind="novalue")]) == [
        5
    ]


def test_several_values_in_order_without_repetition():
    assert item_values([statement("P27", number) for number in (3, 1, 3, 2)]) == [3, 1, 2]


def test_values_of_another_type_are_left_out():
    assert item_values([statement("P27", "text")]) == []
    assert best_statements([]) == []


def test_items_without_numeric_id():
    lone = statement("P27", 7)
    del lone["mainsnak"]["datavalue"]["value"]["numeric-id"]
    assert item_values([lone]) == [7]


def test_points_on_other_globes_are_left_out():
    assert point_values([statement("P625", (1.5, -2.0)), statement("P625", (1.0, 1.0, "Q405"))]) == [Point(1.5, -2.0)]


def test_years_with_sign_and_precision():
    times = ["+1879-03-14T00:00:00Z", "-0044-03-15T00:00:00Z", "+0900-00-00T00:00:00Z/7", "+1000-00-00T00:00:00Z/6"]
    assert year_values([statement("P569", time) for time in times]) == [1879, -44, 900]
