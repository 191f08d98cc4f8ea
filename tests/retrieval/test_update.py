"""Updates of a collection: the same results as an import and a build of the same pages, all or nothing."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError, InputError
from evenrank.io.articles import read_articles
from evenrank.io.faults import FaultLog
from evenrank.retrieval.encode import dense
from evenrank.retrieval.engine import tantivy_engine
from evenrank.retrieval.engine.engines import open_index
from evenrank.retrieval.engine.protocol import TEXT_FIELDS, BoundingEngine, Engine, Restriction, WeightedTerm
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.engine.tantivy_index import TantivyWriter, count_pages
from evenrank.retrieval.engine.tantivy_statistics import balance, count_slots, read_lengths
from evenrank.retrieval.query import feedback
from evenrank.retrieval.update import update_collection
from evenrank.trec import updated_data
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import ImportFiles, import_collection
from evenrank.trec.manifest import CHANGES, TOPIC_CHANGES, SourceFile, is_changes, read_manifest

WORDS = [f"{first}{last}" for first in "bcdfghjklm" for last in ("ell", "orn", "ast", "ing", "ump", "ield")]
REGIONS = ["Africa", "Asia", "Europe", "Oceania"]
SUB_REGIONS = ["Western Asia", "Caribbean", "Polynesia"]
ANCHOR = 1
"""A page that always has every field, so that a build finds all dimensions."""
State = dict[int, dict[str, Any]]
"""By page: `metadata` and `article`, each a record or None."""


def metadata_record(rng: random.Random, page: int) -> dict[str, Any]:
    record: dict[str, Any] = {
        "quality_score": round(rng.random(), 3),
        "quality_score_disc": rng.choice(["Stub", "C", "GA"]),
        "geographic_locations": rng.sample(REGIONS, rng.randint(0, 2)),
        "gender": rng.choice([None, "female", "male"]),
    }
    if page == ANCHOR or rng.random() < 0.5:
        record["source_subcont_regions"] = {name: rng.randint(1, 9) for name in rng.sample(SUB_REGIONS, 2)}
        record["occupations"] = rng.sample(["artist", "activist"], 1)
        record["instance_of"] = rng.sample(["song", "river", "temple"], rng.randint(1, 2))
    return record


def article_record(rng: random.Random) -> dict[str, Any]:
    def words(most: int) -> str:
        return " ".join(rng.choices(WORDS, weights=range(1, len(WORDS) + 1), k=rng.randint(1, most)))

    head = f"'''{words(2)}''' is a {words(3)}."
    filed = "".join(f"\n[[Category:{words(2)}]]" for _ in range(rng.randint(0, 2)))
    return {"title": words(3).title(), "url": "", "text": f"{head}\n\n== {words(1)} ==\n{words(80)}{filed}"}


def first_state(rng: random.Random) -> State:
    state: State = {}
    for page in range(1, rng.choice([12, 40, 90])):
        metadata = metadata_record(rng, page) if page == ANCHOR or rng.random() < 0.9 else None
        article = article_record(rng) if page == ANCHOR or metadata is None or rng.random() < 0.9 else None
        state[page] = {"metadata": metadata, "article": article}
    return state


def random_changes(rng: random.Random, state: State) -> list[dict[str, Any]]:
    """Some changes, which are applied to the state, too."""
    lines: list[dict[str, Any]] = []
    for _ in range(rng.randint(1, 8)):
        page = rng.choice([*state, max(state) + 1, max(state) + rng.randint(2, 50)])
        known = state.get(page, {"metadata": None, "article": None})
        kind = rng.choice(["article", "metadata", "both", "delete", "no article", "no metadata"])
        if kind in ("delete", "no article", "no metadata") and (page == ANCHOR or page not in state):
            kind = "both"
        if kind == "delete":
            del state[page]
            lines.append({"op": "delete", "id": page})
            continue
        line: dict[str, Any] = {"op": "put", "id": page}
        if kind in ("metadata", "both"):
            line["metadata"] = metadata_record(rng, page)
        if kind in ("article", "both"):
            line["article"] = article_record(rng)
        if kind == "no article":
            line["article"] = None
        if kind == "no metadata":
            line["metadata"] = None
        after = {**known, **{name: line[name] for name in ("metadata", "article") if name in line}}
        if after["metadata"] is None and "metadata" not in line and after["article"] is not None and "article" in line:
            after["metadata"] = {}
        state[page] = after
        if after == {"metadata": None, "article": None}:
            del state[page]
        lines.append(line)
    return lines


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return path


def full_build(folder: Path, state: State, topics: list[dict[str, Any]] | None = None) -> Collection:
    pages = [{"page_id": page, **each["metadata"]} for page, each in state.items() if each["metadata"] is not None]
    articles = [{"id": page, **each["article"]} for page, each in state.items() if each["article"] is not None]
    files = ImportFiles(
        write_lines(folder / "files" / "metadata.jsonl", pages),
        topics=write_lines(folder / "files" / "topics.jsonl", topics) if topics else None,
        corpus=write_lines(folder / "files" / "corpus.jsonl", articles),
    )
    made = import_collection(folder / "collection", files)
    evenrank.build_index(made, n_threads=1).close()
    return Collection.open(made.path)


def assert_same_data(found: Collection, expected: Collection) -> None:
    for name in ("page_ids", "quality_class", "quality_score", "size_bytes"):
        assert getattr(found, name).dtype == getattr(expected, name).dtype
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert list(found.masks) == list(expected.masks)
    for name, mask in expected.masks.items():
        np.testing.assert_array_equal(found.masks[name], mask)
    for name, counts in expected.counts.items():
        np.testing.assert_array_equal(found.counts[name].starts, counts.starts)
        np.testing.assert_array_equal(found.counts[name].values, counts.values)
        assert found.counts[name].values.dtype == counts.values.dtype
    assert list(found.titles or ()) == list(expected.titles or ())
    assert found.classes is not None
    assert expected.classes is not None
    np.testing.assert_array_equal(found.classes.numbers, expected.classes.numbers)
    assert found.classes.lists == expected.classes.lists
    assert found.manifest.counts == expected.manifest.counts
    assert found.manifest.absent == expected.manifest.absent
    assert {topic.id: topic for topic in found.topics} == {topic.id: topic for topic in expected.topics}
    texts = [{a.page_id: a for a in read_articles(one.open_corpus(), FaultLog())} for one in (found, expected)]
    assert texts[0] == texts[1]  # of an article that a file has twice, the last one counts


def assert_same_answers(found: Engine, expected: Engine, rng: random.Random) -> None:
    """The same pages in the same order; scores differ by less than the digit that engines round to."""
    ids = expected.page_ids().tolist()
    assert found.page_ids().tolist() == ids
    assert found.stored(ids) == expected.stored(ids)
    for name in (*expected.layout.groups, "quality_class", "quality_score"):
        np.testing.assert_array_equal(found.values(name, ids), expected.values(name, ids))
    words = [expected.analyse("text", word)[0] for word in WORDS]
    assert found.document_frequencies("text", words) == expected.document_frequencies("text", words)
    for _ in range(8):
        one, two, three = rng.sample(words, 3)
        terms = [
            WeightedTerm("text", (one, two), rng.random()),
            WeightedTerm("text", (three,), 0.5, with_words=((one, two),)),
            WeightedTerm("title", (two,), 2.0),
            WeightedTerm("title", (one, two), is_phrase=True),
            WeightedTerm("categories", (three,)),
            WeightedTerm("lead", (rng.choice(WORDS),)),
            WeightedTerm("kind", expected.analyse("kind", "song") and tuple(expected.analyse("kind", "song"))),
        ]
        for restriction in (Restriction(), Restriction({"geography": 1 << 3})):
            hits, wanted = found.search(terms, 20, restriction), expected.search(terms, 20, restriction)
            assert hits.page_ids.tolist() == wanted.page_ids.tolist()
            unit = 1.1e-5 * max(wanted.scores, default=0.0)  # of the last digit that engines keep, at most
            np.testing.assert_allclose(hits.scores, wanted.scores, rtol=0.0, atol=unit)


def assert_feedback_needs_no_more_counts(engine: Engine, rng: random.Random, patch: pytest.MonkeyPatch) -> None:
    """The words that join a query are the same whether or not hopeless ones are left out before they are counted."""
    hits = engine.search([WeightedTerm("text", tuple(engine.analyse("text", rng.choice(WORDS))))], 20)
    if not len(hits.page_ids):
        return
    assert isinstance(engine, BoundingEngine)
    words = [engine.analyse("text", word)[0] for word in WORDS]
    bounds = zip(*engine.frequency_bounds("text", words), engine.document_frequencies("text", words), strict=True)
    assert all(least <= n <= most for least, most, n in bounds)
    settings = feedback.FeedbackSettings(n_words=4)
    found = feedback.feedback_terms(engine, hits, settings)
    with patch.context() as without:
        without.setattr(feedback, "BoundingEngine", ())
        assert feedback.feedback_terms(engine, hits, settings) == found


def assert_removed_pages_are_counted(engine: Engine) -> None:
    """How many pages are left with a word is known without a look at them."""
    assert isinstance(engine, TantivyEngine)
    count = engine._removed_counter()
    assert (count is None) == (engine._n_hidden == 0)
    for field in TEXT_FIELDS if count else ():
        for word in dict.fromkeys(analysed for text in (*WORDS, "z") for analysed in engine.analyse(field, text)):
            n_left = count_pages(engine._searcher, engine._schema, field, word)
            assert engine.document_frequencies(field, [word]) == [n_left], (field, word)


def check_sequence(folder: Path, seed: int, patch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Several updates one after the other, compared with a build of what they lead to; how many there were, and how
    many of them built the index anew."""
    rng = random.Random(seed)
    state = first_state(rng)
    updated = full_build(folder / "updated", state)
    n_updates, n_rebuilt = rng.randint(1, 5), 0
    for step in range(n_updates):
        changes = write_lines(folder / f"changes-{step}.jsonl", random_changes(rng, state))
        done = update_collection(updated.path, changes)
        n_rebuilt += done.is_rebuilt
        updated = done.collection
    expected = full_build(folder / "expected", state)
    assert_same_data(updated, expected)
    one, two = open_index(updated), open_index(expected)
    assert_same_answers(one, two, rng)
    assert_feedback_needs_no_more_counts(one, rng, patch)
    assert_removed_pages_are_counted(one)
    query = " ".join(rng.sample(WORDS, 3))
    pages = [list(evenrank.search(each, query, k=10).page_ids) for each in (updated, expected)]
    assert pages[0] == pages[1]
    return n_updates, n_rebuilt


@pytest.mark.parametrize("seed", range(24))
def test_updates_give_the_results_of_a_build(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check_sequence(tmp_path, seed, monkeypatch)


@pytest.mark.parametrize("seed", range(24, 32))
def test_articles_of_many_updates_are_put_together(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updated_data, "MOST_FILES", 1 + seed % 2)
    check_sequence(tmp_path, seed, monkeypatch)
    updated = Collection.open(tmp_path / "updated" / "collection")
    assert len(list(updated.data.glob("articles-*.jsonl.gz"))) <= 1 + updated_data.MOST_FILES
    assert sum(map(is_changes, updated.manifest.sources)) <= 1 + updated_data.MOST_FILES


def test_files_of_changes_are_named_until_they_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updated_data, "MOST_FILES", 3)
    sources, marks = {"corpus": SourceFile("c", 1, None, None)}, set()
    for number, n_named in enumerate((1, 2, 3, 2, 3, 2, 3), 1):
        sources = updated_data.with_changes(sources, CHANGES, SourceFile(f"{number}.jsonl", 10, "same", None))
        assert list(sources) == ["corpus", "changes_1", "changes_2", "changes_3"][: 1 + n_named]
        assert sum(one.size_bytes for name, one in sources.items() if is_changes(name)) == 10 * number
        assert sources[list(sources)[-1]].path == f"{number}.jsonl"
        marks.add(str(sources))
    assert len(marks) == 7
    topics = updated_data.with_changes(sources, TOPIC_CHANGES, SourceFile("t.jsonl", 1, "t", None))
    assert list(topics.items()) == [*sources.items(), ("topic_changes_1", SourceFile("t.jsonl", 1, "t", None))]


@pytest.mark.long
@pytest.mark.timeout(0)
@pytest.mark.parametrize("block", range(20))
def test_a_thousand_sequences_of_updates(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(1000 + 50 * block, 1050 + 50 * block)
    counts = [check_sequence(tmp_path / str(seed), seed, monkeypatch) for seed in seeds]
    n_updates, n_rebuilt = (sum(column) for column in zip(*counts, strict=True))
    print(f"{n_updates} updates, {n_rebuilt} of them built the index anew")
    assert n_rebuilt < n_updates / 2


@pytest.fixture
def small(tmp_path: Path) -> Collection:
    rng = random.Random(5)
    state: State = {
        page: {"metadata": metadata_record(rng, page), "article": article_record(rng)} for page in range(1, 41)
    }
    topics = [{"id": 1, "title": "Songs", "rel_docs": [1, 2, 3]}, {"id": 2, "title": "Rivers", "rel_docs": [4]}]
    return full_build(tmp_path / "small", state, topics)


def version_of(folder: Path) -> tuple[str, str]:
    manifest = read_manifest(folder)
    return manifest.data_folder, manifest.index_folder


def test_all_faults_are_told_and_nothing_changes(small: Collection, tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    path.write_text(
        textwrap.dedent("""\
        {"op": "put", "id": 3, "metadata": {"geographic_locations": ["Atlantis"]}}
        {"op": "move", "id": 3}
        {"op": "put", "id": 0, "metadata": {}}
        {"op": "put", "id": 4, "article": {"title": 7, "text": ""}}
        {"op": "put", "id": 5}
        not JSON
        {"op": "put", "id": 6, "metadata": {"quality_score": 2}}
        {"op": "put-topic", "topic": {"id": "x"}, "split": "train"}
        {"op": "delete", "id": 7, "why": "spam"}
        """)
    )
    before, files = version_of(small.path), sorted(small.path.rglob("*"))
    with pytest.raises(InputError) as error:
        update_collection(small.path, path)
    assert [fault.line for fault in error.value.faults] == list(range(1, 10))
    assert {fault.path for fault in error.value.faults} == {str(path)}
    assert version_of(small.path) == before
    assert sorted(small.path.rglob("*")) == files


def test_topics_change_without_a_new_index(small: Collection, tmp_path: Path) -> None:
    lines = [
        {"op": "put-topic", "split": "eval", "topic": {"id": 3, "title": "Temples", "rel_docs": [9]}},
        {"op": "put-topic", "split": "train", "topic": {"id": 1, "title": "All songs", "rel_docs": [1, 5]}},
        {"op": "delete-topic", "id": 2},
    ]
    done = update_collection(small.path, write_lines(tmp_path / "changes.jsonl", lines))
    assert [(t.id, t.title, t.split, t.rel_docs.tolist()) for t in done.collection.topics] == [
        (1, "All songs", "train", [1, 5]),
        (3, "Temples", "eval", [9]),
    ]
    assert done.n_topics == 3
    assert done.collection.manifest.counts["train_judgments"] == 2
    assert version_of(small.path)[1] == small.manifest.index_folder
    open_index(done.collection)
    shared = small.data / "titles.npy"
    assert not shared.exists() or (done.collection.data / "titles.npy").read_bytes() == shared.read_bytes()


def test_topics_to_delete_that_there_are_not(small: Collection, tmp_path: Path) -> None:
    notes: list[str] = []
    lines = [{"op": "delete-topic", "id": 77}, {"op": "delete-topic", "id": 2}, {"op": "delete-topic", "id": 78}]
    done = update_collection(small.path, write_lines(tmp_path / "changes.jsonl", lines), warn=notes.append)
    assert done.n_topics == 1
    assert notes == ["topics to delete that the collection does not have: 77, 78"]


def test_an_update_shares_the_files_that_stay(small: Collection, tmp_path: Path) -> None:
    lines = [{"op": "put", "id": 3, "metadata": {"quality_score": 0.1}}, {"op": "delete", "id": 999}]
    notes: list[str] = []
    reader = Collection.open(small.path)  # keeps its version
    done = update_collection(small.path, write_lines(tmp_path / "changes.jsonl", lines), warn=notes.append)
    assert (done.n_put, done.n_deleted) == (1, 0)
    assert "does not have: 1" in notes[0]
    segments = (done.collection.path / done.collection.manifest.index_folder).rglob("*.store")
    assert any(path.stat().st_nlink > 1 for path in segments)
    assert (done.collection.data / "topics.json").stat().st_nlink > 1
    assert evenrank.search(reader, "song", k=5).rows


def test_a_second_update_keeps_the_articles_of_the_first(small: Collection, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        article = {"title": f"Version {number}", "text": f"This is version {number}."}
        lines = [{"op": "put", "id": 50 + number, "article": article}, {"op": "put", "id": 7, "article": article}]
        update_collection(small.path, write_lines(tmp_path / f"{number}.jsonl", lines))
    opened = Collection.open(small.path)
    articles = {each.page_id: each.text for each in read_articles(opened.open_corpus(), FaultLog())}
    assert {articles[page] for page in (7, 53)} == {"This is version 3."}
    assert articles[51] == "This is version 1."
    assert len(articles) == 43


def test_a_file_of_changes_in_the_folder_is_not_needed_afterwards(small: Collection) -> None:
    for number in (1, 2):
        lines = [{"op": "put", "id": number, "metadata": {"quality_score": 0.25}}]
        update_collection(small.path, write_lines(small.path / "sync-changes.jsonl", lines))
    checked = CliRunner().invoke(cli, ["doctor", str(small.path)])
    assert checked.exit_code == 0, checked.output
    assert "nothing is damaged" in checked.output


def test_a_service_outlives_a_full_disk_and_refuses_what_it_can_never_write(
    small: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("urllib3", reason="needs the extra wiki")
    from evenrank.retrieval import sync as service
    from evenrank.wikipedia.mediawiki.settings import WikiSettings

    away, notes, waits = WikiSettings("http://127.0.0.1:9/w/api.php", "tests@example.org"), list[str](), list[float]()
    missing = tmp_path / "missing" / "evenrank.prom"
    keep = service._keep

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        monkeypatch.setattr(service, "_keep", full if len(waits) < 3 else keep)
        if len(waits) == 4:
            raise KeyboardInterrupt

    def full(folder: Path, state: service.SyncState) -> None:
        raise InputError([])

    def follow(folder: Path) -> None:
        since = "2026-11-18"
        service.sync(folder, away, since=since, metrics=missing, warn=notes.append, sleep=sleep)

    with pytest.raises(KeyboardInterrupt):
        follow(small.path)
    assert waits == [30.0, 60.0, 120.0, 240.0]
    assert orjson.loads((small.path / service.STATE).read_bytes())["n_failures"] == 4
    assert sum(note.startswith(f"{missing}: could not be written") for note in notes) == 4
    monkeypatch.setattr(service, "_keep", full)
    with pytest.raises(InputError):
        follow(small.path)
    released = tmp_path / "releases"
    evenrank.pack_collection(small.path, released)
    with pytest.raises(EvenrankError, match="never changed"):
        follow(released)
    shutil.rmtree(released / "index-1")
    with pytest.raises(EvenrankError, match="a part of its release is missing; pack or fetch the release again"):
        open_index(Collection.open(released))


def test_text_ids_keep_their_numbers(tmp_path: Path) -> None:
    files = ImportFiles(
        write_lines(tmp_path / "m.jsonl", [{"page_id": f"p{n}", "quality_score": 0.5} for n in range(30)]),
        corpus=write_lines(tmp_path / "c.jsonl", [{"id": f"p{n}", "title": f"T{n}", "text": "a"} for n in range(30)]),
    )
    made = import_collection(tmp_path / "c", files)
    evenrank.build_index(made, n_threads=1).close()
    lines = [
        {"op": "put", "id": "new", "article": {"title": "New", "text": "A new song"}},
        {"op": "delete", "id": "p3"},
        {"op": "delete", "id": "nobody"},
    ]
    done = update_collection(made.path, write_lines(tmp_path / "changes.jsonl", lines))
    ids = [done.collection.shown_id(page) for page in done.collection.page_ids.tolist()]
    assert ids == [f"p{n}" for n in range(30) if n != 3] + ["new"]
    assert [row["page_id"] for row in evenrank.search(done.collection, "song", k=3).rows] == ["new"]
    with pytest.raises(InputError, match="whole number"):
        update_collection(made.path, write_lines(tmp_path / "wrong.jsonl", [{"op": "delete", "id": 5}]))


def test_a_collection_without_articles_is_updated(tmp_path: Path) -> None:
    pages = [{"page_id": page, "quality_score": 0.5, "geographic_locations": ["Asia"]} for page in range(1, 20)]
    made = import_collection(tmp_path / "c", ImportFiles(write_lines(tmp_path / "m.jsonl", pages)))
    lines = [{"op": "delete", "id": 4}, {"op": "put", "id": 30, "metadata": {"geographic_locations": ["Africa"]}}]
    done = update_collection(made.path, write_lines(tmp_path / "changes.jsonl", lines))
    assert done.collection.page_ids.tolist() == [*range(1, 4), *range(5, 20), 30]
    assert int(done.collection.masks["geography"][-1]) == 2
    with pytest.raises(InputError, match="without articles"):
        article = {"op": "put", "id": 1, "article": {"title": "T", "text": "t"}}
        update_collection(made.path, write_lines(tmp_path / "more.jsonl", [article]))


def test_a_collection_with_articles_needs_its_index(tmp_path: Path) -> None:
    state = first_state(random.Random(0))
    built = full_build(tmp_path, state)
    evenrank.import_collection(built.path, ImportFiles(tmp_path / "files" / "metadata.jsonl"), at_once=True)
    files = ImportFiles(tmp_path / "files" / "metadata.jsonl", corpus=tmp_path / "files" / "corpus.jsonl")
    evenrank.import_collection(built.path, files, at_once=True)
    with pytest.raises(EvenrankError, match="run: evenrank index"):
        update_collection(built.path, write_lines(tmp_path / "changes.jsonl", [{"op": "delete", "id": 2}]))


def test_an_index_with_many_replaced_pages_is_built_anew(small: Collection, tmp_path: Path) -> None:
    rng = random.Random(3)
    for step in range(4):
        ids = range(1 + 9 * step, 10 + 9 * step)
        pages = [{"op": "put", "id": page, "article": article_record(rng)} for page in ids]
        done = update_collection(small.path, write_lines(tmp_path / f"{step}.jsonl", pages))
        assert done.is_rebuilt == (step == 3)  # more than half were replaced before
    in_use = done.collection.path / done.collection.manifest.index_folder
    assert not list(in_use.glob("*-lengths.json"))  # nothing was replaced in it
    assert len(open_index(done.collection).page_ids()) == 40


def test_removed_pages_are_counted_without_writing_and_without_their_index(
    small: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(1)
    lines = [{"op": "put", "id": page, "article": article_record(rng)} for page in range(2, 9)]
    updated = update_collection(small.path, write_lines(tmp_path / "changes.jsonl", lines)).collection
    monkeypatch.setattr(tantivy_engine.os, "access", lambda *_: False)
    engine = open_index(updated)
    assert isinstance(engine, TantivyEngine)
    assert engine._n_hidden
    assert_removed_pages_are_counted(engine)
    counted = engine.document_frequencies("text", WORDS)
    shutil.rmtree(engine.path.with_name("pages-removed"))
    engine.refresh()
    assert engine._removed_counter() is None
    assert engine.document_frequencies("text", WORDS) == counted


def test_vectors_of_unchanged_texts_are_kept(
    small: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dense.encode_index(small)
    encoded: list[int] = []
    made = dense.DenseScorer._encoded

    def counting(self: dense.DenseScorer, page_ids: np.ndarray, label: str) -> Any:
        encoded.extend(page_ids.tolist())
        return made(self, page_ids, label)

    monkeypatch.setattr(dense.DenseScorer, "_encoded", counting)
    article = {"title": "Something else", "text": "It is about something else."}
    lines = [
        {"op": "put", "id": 3, "metadata": {"quality_score": 0.9}},
        {"op": "put", "id": 4, "article": article},
        {"op": "delete", "id": 5},
    ]
    done = update_collection(small.path, write_lines(tmp_path / "changes.jsonl", lines))
    assert encoded == [4]
    (path,) = (small.path / done.collection.manifest.index_folder).glob("vectors-*.bin")
    engine = open_index(done.collection)
    (settings,) = dense.recorded_encoders(path.parent)
    scorer = dense.DenseScorer.open(engine, dense.Encoder(settings), path.parent)
    assert scorer.covers_index
    assert not len(scorer.cache.missing(engine.page_ids()))


KILLED = """
import os, signal, sys
from pathlib import Path
import evenrank.retrieval.update as update
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine

place = sys.argv[3]
def killing(owner, name):
    function = getattr(owner, name)
    def wrapped(*args, **kwargs):
        if place.endswith("-after"):
            function(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(owner, name, wrapped)
owner, name = {
    "data": (update, "write_updated_data"),
    "copy": (TantivyEngine, "copy"),
    "index": (TantivyEngine, "update"),
    "checksums": (update, "write_checksums"),
    "switch": (update, "put_index"),
}[place.removesuffix("-after")]
if name == "copy":
    copy = TantivyEngine.copy
    TantivyEngine.copy = classmethod(lambda cls, *args: (copy(*args), os.kill(os.getpid(), signal.SIGKILL)))
else:
    killing(owner, name)
update.update_collection(sys.argv[1], sys.argv[2])
"""


@pytest.mark.parametrize(
    "place", ["data", "data-after", "copy", "index", "index-after", "checksums", "checksums-after", "switch"]
)
def test_a_killed_update_leaves_the_earlier_version_and_is_repeated(
    small: Collection, tmp_path: Path, place: str
) -> None:
    lines = [
        {"op": "put", "id": 60, "article": {"title": "New", "text": "A wholly unheard of thing"}},
        {"op": "delete", "id": 5},
    ]
    changes, before = write_lines(tmp_path / "changes.jsonl", lines), version_of(small.path)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(small.path), str(changes), place], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert version_of(small.path) == before
    opened = Collection.open(small.path)
    assert open_index(opened).statistics().n_pages == 40
    del opened, small
    done = update_collection(tmp_path / "small" / "collection", changes)
    assert (done.n_put, done.n_deleted) == (1, 1)
    assert evenrank.search(done.collection, "unheard", k=3).page_ids == [60]
    folder = done.collection.path
    assert {path.name for path in folder.glob("*-[0-9]*")} <= {*version_of(folder), *before}
    assert not [name for name in os.listdir(folder) if name.endswith(".tmp")]


def test_mean_lengths_are_exact_when_merges_have_removed_all_replaced_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tantivy estimates the lengths of what it merges; they were taken for exact where nothing removed was left."""

    def close_after_merges(writer: TantivyWriter) -> None:
        if writer._open is not None:
            writer._open.wait_merging_threads()  # without the rollback, which stops merges that have just begun
            writer._open = writer._added = None

    monkeypatch.setattr(TantivyWriter, "close", close_after_merges)
    rng = random.Random(11)
    state: State = {
        page: {"metadata": metadata_record(rng, page), "article": article_record(rng)} for page in range(1, 120)
    }
    updated, n_merged = full_build(tmp_path / "made", state), 0
    for step in range(8):
        lines = [{"op": "put", "id": page, "article": article_record(rng)} for page in rng.sample(range(2, 120), 4)]
        updated = update_collection(updated.path, write_lines(tmp_path / f"{step}.jsonl", lines)).collection
        engine = open_index(updated)
        assert isinstance(engine, TantivyEngine)
        lengths = read_lengths(engine.path.with_name("pages-lengths.json"), engine._count_lengths)
        assert balance(lengths, count_slots(engine.path), engine._measure()[-1]) is None, step
        n_merged += engine.statistics().n_segments < step
        engine.close()
    assert n_merged
