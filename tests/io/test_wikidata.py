"""Entities of the Wikidata dump: what is read in part equals what a full parse gives."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "wikipedia" / "annotate"))
from wikidata_sample import dump_bytes, dump_line, entity, statement

from evenrank.io.wikidata import BrokenEntityError, Wanted, entity_places, read_entity, read_whole_entity

WANTED = Wanted(("enwiki",), frozenset({b"P27", b"P17", b"P21"}), frozenset({b"P17"}))

PERSON = entity(
    42,
    statement("P31", 5),
    statement("P21", 6581097, references={"P143": 328, "P21": 1}),
    statement("P27", 142, qualifiers={"P27": 30, "P17": 183}),
    statement("P27", 145, rank="preferred", references={"P27": 17}),
    statement("P17", 142),
    title='Douglas "D" Adäms',
    others=("frwiki", "zhwiki"),
)


def test_wanted_statements_and_sitelinks_of_an_item_with_a_page():
    read = read_entity(dump_line(PERSON), WANTED)
    assert read.id == 42
    assert read.statements == {name: PERSON["claims"][name] for name in ("P21", "P27", "P17")}
    assert read.sitelinks == PERSON["sitelinks"]


def test_an_item_without_a_page_gives_only_what_is_wanted_of_all():
    line = dump_line(entity(7, statement("P27", 1), statement("P17", 2), others=("enwikiquote", "simplewiki")))
    read = read_entity(line, WANTED)
    assert (read.id, list(read.statements), read.sitelinks) == (7, ["P17"], {})


@pytest.mark.parametrize("content", [entity(1), entity(1, title="T"), entity(1, statement("P17", 3))])
def test_empty_maps_are_lists_in_the_dump(content):
    assert read_entity(dump_line(content), WANTED) == read_whole_entity(dump_line(content), WANTED)


def test_no_item_is_none():
    assert read_entity(b'{"type":"property","id":"P17","claims":{}}', WANTED) is None


@pytest.mark.parametrize("spacing", [(", ", ": "), (",", ":")])
def test_another_order_or_spacing_gives_the_same(spacing):
    turned = dict(reversed(PERSON.items()))
    line = json.dumps({"type": "item", **turned}, separators=spacing).encode()
    assert read_entity(line, WANTED) == read_entity(dump_line(PERSON), WANTED)


@pytest.mark.parametrize(
    "line",
    [
        dump_line(PERSON)[:-30],
        dump_line(PERSON)[:-1],
        b"{}",
        b"no json",
        b'{"type":"item","id":"Qx","claims":[],"sitelinks":[]}',
        dump_line(PERSON).replace(b'"rank":"normal"', b'"rank":normal"'),
    ],
)
def test_a_broken_line_is_told(line):
    with pytest.raises(BrokenEntityError):
        read_entity(line, WANTED)


def test_places_of_the_lines_of_a_dump():
    entities = [entity(number, title=f"T{number}") for number in (1, 2, 3)]
    block = dump_bytes(entities).replace(b"\n]", b"\n\r\n]")
    places = list(entity_places(block))
    assert [number for number, _, _ in places] == [2, 3, 4]
    assert [json.loads(block[start:end]) for _, start, end in places] == entities
    assert [read_entity(block, WANTED, start, end).id for _, start, end in places] == [1, 2, 3]


nasty_text = st.text(st.sampled_from('"\\{}[]:,P27é\n mainsnak'), max_size=30)
numbers = st.integers(1, 10**8)
names = st.sampled_from(["P17", "P27", "P21", "P1", "P170", "P2700"])
statements = st.builds(
    statement,
    names,
    numbers | nasty_text.map(lambda text: "x" + text),
    rank=st.sampled_from(["normal", "preferred", "deprecated"]),
    kind=st.sampled_from(["value", "value", "novalue", "somevalue"]),
    qualifiers=st.dictionaries(names, numbers, max_size=2),
    references=st.dictionaries(names, numbers, max_size=2),
)


@given(numbers, st.lists(statements, max_size=6), st.none() | nasty_text, st.sets(nasty_text, max_size=2), nasty_text)
def test_partial_reading_equals_full_parsing(number, claims, title, others, label):
    line = dump_line(entity(number, *claims, title=title, others=tuple(sorted(others)), label=label))
    assert read_entity(line, WANTED) == read_whole_entity(line, WANTED)
