"""The date of the data comes from a dump's name or its edits, and from nothing that copying changes."""

from __future__ import annotations

import bz2
import json
import os
from pathlib import Path

import pytest

from evenrank.errors import EvenrankError
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import ImportFiles, import_collection
from evenrank.trec.sources import check_date, data_date, dump_date


@pytest.mark.parametrize(
    "name, found",
    [
        ("enwiki-20211001-pages-articles.xml.bz2", "2021-10-01"),
        ("ltgwiki-201709-pages-articles.xml.bz2", "2017-09"),
        ("zh_min_nanwiki-20220301-pages-articles-multistream.xml.bz2", "2022-03-01"),
        ("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2", None),
        ("trec_corpus.json.gz", None),
        ("enwiki-20211399-pages-articles.xml", None),
        ("report-20211001.json", None),
    ],
)
def test_dates_in_names(name: str, found: str | None) -> None:
    assert dump_date(name) == found


def test_the_oldest_source_counts() -> None:
    names = (Path("enwiki-20211001-pages-articles.xml"), None, Path("wikidatawiki-20210901-all.json"), Path("x"))
    assert data_date(names) == "2021-09-01"


def test_an_import_keeps_the_date_of_its_dump(tmp_path: Path) -> None:
    corpus, metadata = tmp_path / "simplewiki-20230120-articles.jsonl", tmp_path / "metadata.jsonl"
    corpus.write_text(json.dumps({"id": 1, "title": "Chess", "url": "", "text": "Chess is a game."}) + "\n")
    record = {"page_id": 1, "quality_score": 0.5, "quality_score_disc": "Stub", "geographic_locations": []}
    metadata.write_text(json.dumps(record) + "\n")
    os.utime(corpus, (0, 0))
    import_collection(tmp_path / "collection", ImportFiles(metadata=metadata, corpus=corpus))
    assert Collection.open(tmp_path / "collection").manifest.data_date == "2023-01-20"
    import_collection(tmp_path / "collection", ImportFiles(metadata=metadata, corpus=corpus, date="2023-02"))
    assert Collection.open(tmp_path / "collection").manifest.data_date == "2023-02"


@pytest.mark.parametrize("text", ["", "2021", "20211001", "2021-13", "2021-10-32", "yesterday", "2021-W03"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(EvenrankError, match="is not a date"):
        check_date(text)


@pytest.mark.parametrize("text", [None, "2021-10", "2021-10-01"])
def test_days_and_months_are_dates(text: str | None) -> None:
    check_date(text)


def test_metadata_have_the_date_of_what_they_were_annotated_from(tmp_path: Path) -> None:
    metadata = tmp_path / "metadata.json.gz"
    assert data_date([metadata]) is None
    about = {"inputs": {"dump": {"name": "ltgwiki-20170920-pages-articles.xml.bz2"}, "wikidata": {"name": "w.json"}}}
    metadata.with_name("metadata.json.gz.about.json").write_text(json.dumps(about))
    assert data_date([metadata]) == "2017-09-20"
    metadata.with_name("metadata.json.gz.about.json").write_text("[1]")
    assert data_date([metadata]) is None


def test_a_dump_without_a_date_in_its_name_is_as_new_as_its_newest_edit(tmp_path: Path) -> None:
    edits = "".join(f"<page><timestamp>{day}T00:00:00Z</timestamp></page>" for day in ("2019-03-01", "2020-02-29"))
    dump = tmp_path / "export.xml.bz2"
    dump.write_bytes(bz2.compress(f'<mediawiki xml:lang="en">{edits}</mediawiki>'.encode()))
    assert data_date([dump]) == "2020-02-29"
    dump.write_text('{"timestamp": "<timestamp>2020-02-29T00:00:00Z</timestamp>"}')
    assert data_date([dump]) is None
