"""The small parts of the generator: joined gzip parts, whole shares, names, years, sentences."""

from __future__ import annotations

import gzip
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.errors import EvenrankError
from evenrank.trec.generate import tables
from evenrank.trec.generate.files import compress_part, gzip_writer
from evenrank.trec.generate.lexicon import Pattern
from evenrank.trec.generate.names import unique_person, unique_place
from evenrank.trec.generate.picker import Picker, zipf_weights
from evenrank.trec.generate.prose import LAST, Years, capitalised, make_sentence, plain_text, with_articles
from evenrank.trec.generate.topics import apportion


@given(parts=st.lists(st.binary(max_size=200), max_size=6))
def test_parts_make_one_gzip_member(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("packed") / "parts.gz"
    with gzip_writer(path) as write:
        for part in parts:
            write(compress_part(part))
    assert gzip.decompress(path.read_bytes()) == b"".join(parts)
    single = zlib.decompressobj(wbits=31)
    single.decompress(path.read_bytes())
    assert single.eof
    assert not single.unused_data


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.data())
def test_shares_add_up_within_their_limits(limits: list[int], data: st.DataObject) -> None:
    total = data.draw(st.integers(0, sum(limits)))
    weights = data.draw(st.lists(st.floats(0.01, 100), min_size=len(limits), max_size=len(limits)))
    counts = apportion(total, np.array(weights), np.array(limits), "training")
    assert counts.sum() == total
    assert (counts >= 0).all()
    assert (counts <= limits).all()


def test_shares_follow_the_weights() -> None:
    assert apportion(10, np.array([3.0, 1.0, 1.0]), np.array([100, 100, 100]), "training").tolist() == [6, 2, 2]
    assert apportion(10, np.array([3.0, 1.0, 1.0]), np.array([4, 100, 100]), "training").tolist() == [4, 3, 3]
    with pytest.raises(EvenrankError, match="11 training judgments"):
        apportion(11, np.array([1.0]), np.array([10]), "training")


@pytest.mark.parametrize("continent", ["Africa", "Asia", "Europe", "Northern America", "Oceania"])
def test_names_differ_from_page_to_page(continent: str) -> None:
    people = {unique_person(continent, "female", number, 77) for number in range(5000)}
    places = {unique_place(continent, number, 77) for number in range(5000)}
    assert len(people) > 4990
    assert len(places) > 4990


def test_words_are_drawn_by_weight() -> None:
    picker = Picker.weighted(["a", "b"], np.array([3.0, 1.0]))
    words = picker.draw(np.random.default_rng(0), 4000)
    assert words.count("a") == pytest.approx(3000, abs=150)
    weights = zipf_weights(100)
    assert weights.sum() == pytest.approx(1)
    assert (np.diff(weights) < 0).all()


def test_years_stay_in_the_time_of_the_article() -> None:
    years = Years(1960, np.random.default_rng(1))
    for _ in range(50):
        year = int(years.year())
        assert 1960 <= year < 2005
        assert year < int(years.later()) <= LAST + 1
        assert 1960 <= int(years.decade().removesuffix("s")) < 2005


def test_sentences_are_put_together() -> None:
    pattern = Pattern.parse("{thing} cost 5% in {place}.")
    assert (
        make_sentence(pattern, {"thing": lambda: "[[Crops|crops]]", "place": lambda: "Oravik"})
        == "[[Crops]] cost 5% in Oravik."
    )
    assert capitalised("crops") == "Crops"
    assert plain_text("[[Crops|crops]]") == "crops"
    assert with_articles("A early map of a [[Inn|inn]], a union and a urban area") == (
        "An early map of an [[Inn|inn]], a union and an urban area"
    )


def test_every_slot_of_every_pattern_is_known() -> None:
    known = set(tables.toml("words")) | {
        *("year", "later", "decade", "number", "place", "town", "country", "demonym", "person", "born", "home"),
        *("name", "title", "short", "They", "they", "their", "their_cap", "them"),
        *("thing", "field", "role", "site", "jargon"),
    }
    sentences = [s for part in tables.toml("sentences").values() for level in part.values() for s in level]
    frames = [entry for kind, entry in tables.toml("articles").items() if kind != "headings"]
    for entry in frames:
        sentences += [*entry["openings"], *entry["openings_unlocated"], *entry["fields"].values()]
    assert {slot for sentence in sentences for slot in Pattern.parse(sentence).slots} <= known


def test_subjects_have_enough_words() -> None:
    subjects = tables.toml("subjects")
    assert len(subjects) >= 60
    for name, entry in subjects.items():
        words = [word for kind in ("roles", "things", "fields", "sites") for word in entry[kind]]
        assert len(words) >= 20, name
        assert all(len(entry[kind]) >= 3 for kind in ("things", "fields", "roles", "sites")), name
