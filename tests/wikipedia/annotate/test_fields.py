"""The fields of 2022 and gender: from an item's values to the names in the metadata."""

from __future__ import annotations

import gzip

import pytest
from dump_sample import read_comment

from evenrank.io.compressed import open_compressed
from evenrank.io.content import START, RawBatch
from evenrank.trec.dimensions import CREATION_DATE, FIRST_LETTER, LANGUAGES, OCCUPATIONS, TOPIC_AGE, encode_gender
from evenrank.wikipedia.annotate.attributes import (
    HUMAN,
    MAX_NAMES,
    age_categories,
    class_names,
    count_languages,
    creation_band,
    first_letter,
    gender_category,
    gender_labels,
    kept_classes,
    languages_band,
    letter_band,
    occupation_names,
)
from evenrank.wikipedia.annotate.dump_pages import annotate_history, annotate_page_props
from evenrank.wikipedia.annotate.facts import read_csv
from evenrank.wikipedia.annotate.write import gzip_member

WRITER, SCIENTIST, WORKER = 36180, 901, 327055


def raw(data: bytes) -> RawBatch:
    return RawBatch("file", START, START, data, 0)


def test_gender_categories_agree_with_those_of_the_alignment():
    bits = {"unknown": 1, "female": 2, "male": 4, "third": 8}
    for row in read_csv("genders.csv"):
        assert encode_gender([row["label"]]) == bits[row["category"]]
    assert encode_gender(gender_labels([999])) == bits[gender_category("Q999")] == bits["third"]


def test_gender_labels_are_raw_values():
    assert gender_labels([6581072, 1052281, 999]) == ["female", "transgender female", "Q999"]


def test_occupations_are_those_of_the_dimension():
    assert {row["occupation"] for row in read_csv("occupations.csv")} == set(OCCUPATIONS)


def test_occupations_by_way_of_superclasses():
    parents = {1: [2, WORKER], 2: [WRITER, SCIENTIST], WORKER: [SCIENTIST], WRITER: [81096]}
    assert occupation_names(1, lambda item: parents.get(item, ())) == {"writer", "scientist"}
    assert occupation_names(WRITER, lambda item: parents.get(item, ())) == {"writer"}
    assert occupation_names(WORKER, lambda item: parents.get(item, ())) == frozenset()


def test_occupations_in_a_circle_or_too_far_up_are_none():
    assert occupation_names(1, lambda item: {1: [2], 2: [1]}[item]) == frozenset()
    assert occupation_names(1, lambda item: [item + 1] if item < 9 else [WRITER] if item == 9 else []) == frozenset()
    assert occupation_names(2, lambda item: [item + 1] if item < 9 else [WRITER] if item == 9 else []) == {"writer"}


def test_classes_are_named_by_titles_without_what_tells_them_apart():
    titles = {1: "Single (music)", 2: "Song", 3: "Help:Lists", 4: "(group)", 5: "Human", 6: "2001: A Space Odyssey"}
    named = class_names([1, 7, 5, 3, 4, 2, 6], titles.get, frozenset({"Help"}))
    assert named == ["Single", "(group)", "Song", "2001: A Space Odyssey"]
    assert class_names([1, 8], {1: "Single (music)", 8: "Single (game)"}.get) == ["Single"]
    assert class_names(range(10, 40), str) == [str(number) for number in range(10, 10 + MAX_NAMES)]


def test_of_a_person_no_class_is_kept_but_human():
    assert kept_classes([7, HUMAN, 8]) == [HUMAN]
    assert kept_classes([7, 8]) == [7, 8]
    assert class_names([HUMAN], {HUMAN: "Human"}.get) == []


@pytest.mark.parametrize(
    ("years", "names"),
    [
        ([], []),
        ([-44, 1899], ["Pre-1900s"]),
        ([1900, 1999], ["20th century"]),
        ([2000, 1850], ["Pre-1900s", "21st century"]),
    ],
)
def test_age_of_topic(years, names):
    assert age_categories(years) == names
    assert TOPIC_AGE.encode(names) == (sum(1 << TOPIC_AGE.groups.index(name) for name in names) or 1)


@pytest.mark.parametrize(
    ("title", "letter", "band"),
    [
        ("Delta", "d", "a-d"),
        ("Élan", "e", "e-k"),
        ("Lima", "l", "l-r"),
        ("Zoo", "z", "s-"),
        ("1984", "1", "s-"),
        ("Ωmega", "ω", "s-"),
        ("", "", "s-"),
    ],
)
def test_first_letter(title, letter, band):
    assert (first_letter(title), letter_band(title)) == (letter, band)
    assert FIRST_LETTER.encode(band) > 1


def test_languages_are_wikipedias():
    assert count_languages(["enwiki", "frwiki", "simplewiki", "commonswiki", "enwikiquote", "specieswiki"]) == 3
    bands = [languages_band(number) for number in (0, 1, 2, 4, 5, 300)]
    assert bands == ["English only"] * 2 + ["2-4 languages"] * 2 + ["5+ languages"] * 2
    assert all(LANGUAGES.encode(band) > 1 for band in bands)


def test_creation_date_is_that_of_the_first_revision():
    revision = b"<revision><id>7</id><timestamp>%s</timestamp></revision>"
    revisions = revision % b"2004-05-17T00:00:00Z" + revision % b"2020-01-01T00:00:00Z"
    page = b"<page><title>T</title><ns>0</ns><id>%d</id>" + revisions + b"</page>\n"
    batch = annotate_history(raw(b"<mediawiki >" + page % 12 + b"<page><id>13</id></page>" + page % 25))
    assert batch.rows == {"creation_dates": [(12, "2004-05-17"), (25, "2004-05-17")]}
    bands = [creation_band(f"{year}-01-01") for year in (2001, 2006, 2007, 2016, 2017, 2030)]
    assert bands == ["2001-2006", "2001-2006", "2007-2011", "2012-2016", "2017-2022", "2017-2022"]
    assert all(CREATION_DATE.encode(band) > 1 for band in bands)


def test_items_of_pages_in_the_sql_dump():
    sql = b"INSERT INTO `page_props` VALUES (10,'wikibase_item','Q413',NULL),(11,'page_image','(1,\\'x\\')',NULL);\n"
    assert annotate_page_props(raw(sql)).rows == {"page_props": [(10, 413)]}


def test_gzip_members_with_a_comment_are_read_by_everyone(tmp_path):
    data = gzip_member(b"", "Careful with this: 73 % – or less") + gzip_member(b"one\n") + gzip_member(b"two\n" * 9999)
    path = tmp_path / "file.gz"
    path.write_bytes(data)
    assert gzip.decompress(data) == b"one\n" + b"two\n" * 9999
    with open_compressed(path) as file:
        assert file.read() == gzip.decompress(data)
    assert read_comment(data) == "Careful with this: 73 % ? or less"
    assert read_comment(gzip_member(b"x")) == ""
