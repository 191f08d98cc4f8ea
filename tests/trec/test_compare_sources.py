"""Two editions compared: the changes lead from the one to the other."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.io.articles import read_articles
from evenrank.io.faults import FaultLog
from evenrank.trec.import_files import ImportFiles, import_collection

Pages = dict[int, dict[str, Any]]


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    content = b"".join(orjson.dumps(record) + b"\n" for record in records)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def files_of(folder: Path, articles: Pages, metadata: Pages) -> evenrank.Edition:
    folder.mkdir()
    records = [{"id": page, "url": "", **article} for page, article in articles.items()]
    pages = [{"page_id": page, **record} for page, record in metadata.items()]
    return evenrank.Edition(write(folder / "corpus.jsonl.gz", records), write(folder / "metadata.jsonl", pages))


def edition(rng: random.Random) -> tuple[Pages, Pages]:
    articles = {
        page: {"title": f"T{page}", "text": f"text {rng.randint(1, 2)}"} for page in rng.sample(range(1, 40), 25)
    }
    metadata = {page: {"quality_score": rng.choice([0.1, 0.2])} for page in rng.sample(range(1, 40), 25)}
    return articles | {40: {"title": "T40", "text": "always"}}, metadata | {40: {"quality_score": 0.5}}


@pytest.mark.parametrize("seed", range(6))
def test_changes_make_the_new_edition_of_the_old(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    old, new = (files_of(tmp_path / name, *edition(rng)) for name in ("old", "new"))
    assert old.metadata is not None
    made = import_collection(tmp_path / "c", ImportFiles(old.metadata, corpus=old.articles))
    evenrank.build_index(made, n_threads=1).close()
    counts = evenrank.compare_editions(old, new, tmp_path / "changes.jsonl")
    done = evenrank.update_collection(made.path, tmp_path / "changes.jsonl")
    assert new.metadata is not None
    expected = import_collection(tmp_path / "d", ImportFiles(new.metadata, corpus=new.articles))
    assert done.collection.page_ids.tolist() == expected.page_ids.tolist()
    assert done.collection.quality_score.tolist() == expected.quality_score.tolist()
    texts = [dict(enumerate(sorted(read_articles(c.open_corpus(), FaultLog())))) for c in (done.collection, expected)]
    assert texts[0] == texts[1]
    assert counts.n_same > 0
    again = evenrank.compare_editions(evenrank.Edition(made.path), evenrank.Edition(new.articles), tmp_path / "none")
    assert (again.n_put, again.n_deleted) == (0, 0)
    assert (tmp_path / "none").read_bytes() == b""


def test_editions_without_metadata_delete_whole_pages(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", [{"id": n, "title": f"T{n}", "text": "a"} for n in (1, 2, 3)])
    new = write(
        tmp_path / "new.jsonl", [{"id": n, "title": f"T{n}", "text": "a" if n == 1 else "b"} for n in (1, 3, 4)]
    )
    result = CliRunner().invoke(
        cli, ["collection", "changes", str(old), str(new), "-o", str(tmp_path / "changes.jsonl")]
    )
    assert result.exit_code == 0, result.output
    assert "pages to put: 2, to delete: 1; the same: 1" in result.stderr
    lines = [orjson.loads(line) for line in (tmp_path / "changes.jsonl").read_bytes().splitlines()]
    assert [(line["op"], line["id"]) for line in lines] == [("delete", 2), ("put", 3), ("put", 4)]


def test_ids_that_are_text_are_compared(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", [{"id": f"p{n}", "title": "T", "text": "a"} for n in range(3)])
    new = write(tmp_path / "new.jsonl", [{"id": f"p{n}", "title": "T", "text": "a"} for n in range(1, 4)])
    evenrank.compare_editions(evenrank.Edition(old), evenrank.Edition(new), tmp_path / "changes")
    lines = [orjson.loads(line) for line in (tmp_path / "changes").read_bytes().splitlines()]
    assert [(line["op"], line["id"]) for line in lines] == [("delete", "p0"), ("put", "p3")]


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", [{"id": 1, "title": "T", "text": "a"}])
    result = CliRunner().invoke(cli, ["collection", "changes", str(old), "-o", str(tmp_path / "x")])
    assert result.exit_code == 2
    wrong = write(tmp_path / "m.jsonl", [{"page_id": "x"}, {"page_id": 1}, {}])
    words = ["--old-metadata", str(wrong), "--new-metadata", str(write(tmp_path / "n.jsonl", [{"page_id": 1}]))]
    result = CliRunner().invoke(cli, ["collection", "changes", *words, "-o", str(tmp_path / "x")])
    assert "m.jsonl:1" in str(result.exception)
    assert "m.jsonl:3" in str(result.exception)
    assert not (tmp_path / "x").exists()


def cirrus_dump(path: Path, n_pages: int) -> Path:
    records = []
    for n in range(1, n_pages + 1):
        opening = f"Page {n} is a song"
        page = {
            "wiki": "dewiki",
            "namespace": 0 if n % 7 else 1,
            "title": f"Page {n}",
            "opening_text": opening,
            "text": f"{opening} It has {n} verses. " + "la " * 50,
            "heading": ["Verses", "Chorus"],
            "category": ["German songs", f"Songs of {n}"],
            "template": ["Vorlage:Infobox Song", "Vorlage:Literatur"],
        }
        records += [{"index": {"_type": "page", "_id": str(n)}}, page]
    return write(path, records)


def test_a_cirrus_dump_is_a_corpus(tmp_path: Path) -> None:
    from evenrank.io.articles import open_articles, read_parsed
    from evenrank.wikipedia.annotate.inline import site_names
    from evenrank.wikipedia.annotate.wikitext import parse_wikitext

    path = cirrus_dump(tmp_path / "cirrus.json.gz", 60)
    source = open_articles(path)
    assert source.kind == "cirrus"
    faults = FaultLog()
    batches = list(read_parsed(source, faults, size=3000))
    assert len(batches) > 3
    articles = [article for batch in batches for article in batch.articles]
    assert [article.page_id for article in articles] == [n for n in range(1, 61) if n % 7]
    assert not faults.n_faults
    assert articles[2].url == "https://de.wikipedia.org/wiki/Page_3"
    page = parse_wikitext(articles[2].text, site_names(source.site))
    assert list(page.categories) == ["German songs", "Songs of 3"]
    assert page.lead.strip() == "Page 3 is a song"
    assert "It has 3 verses." in page.body
    middle = batches[1].end  # reading resumes at any batch
    rest = [article for batch in read_parsed(source, faults, start=middle, size=3000) for article in batch.articles]
    assert rest == articles[len(batches[0].articles) + len(batches[1].articles) :]


def test_broken_pages_of_a_cirrus_dump_are_left_out(tmp_path: Path) -> None:
    lines = cirrus_dump(tmp_path / "whole.json", 4).read_bytes().splitlines()
    lines[3] = b'{"title": 7}'
    lines[4] = b'{"index": {"_id": "none"}}'
    (tmp_path / "cirrus.json").write_bytes(b"\n".join(lines).replace(b'{"index": ', b'{"index":'))
    faults = FaultLog()
    found = [article.page_id for article in read_articles(tmp_path / "cirrus.json", faults)]
    assert found == [1, 4]
    assert [fault.line for fault in faults.faults] == [3, 5]


def test_a_collection_of_a_cirrus_dump_is_searched_and_compared(tmp_path: Path) -> None:
    old, new = cirrus_dump(tmp_path / "old.json.gz", 30), cirrus_dump(tmp_path / "new.json.gz", 33)
    metadata = write(tmp_path / "m.jsonl", [{"page_id": n, "quality_score": 0.5} for n in range(1, 31)])
    made = import_collection(tmp_path / "c", ImportFiles(metadata, corpus=old))
    assert made.manifest.language == "de"
    evenrank.build_index(made, n_threads=1).close()
    evenrank.compare_editions(evenrank.Edition(made.path), evenrank.Edition(new), tmp_path / "changes")
    done = evenrank.update_collection(made.path, tmp_path / "changes")
    assert done.n_put == 3
    assert 33 in evenrank.search(done.collection, "verses", k=40).page_ids
