"""The generated files: official formats, exact counts, the same bytes again, nothing half-written."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenrank.core.records import WORK_ORDER
from evenrank.errors import EvenrankError
from evenrank.trec.generate import (
    GeneratedFiles,
    GenerateSettings,
    generate_files,
    official_shape,
    split_topics,
)
from evenrank.trec.generate.generate import UNFINISHED

from .generated import records

CONTINENTS = {
    "Africa",
    "Antarctica",
    "Asia",
    "Europe",
    "Latin America and the Caribbean",
    "Northern America",
    "Oceania",
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> GeneratedFiles:
    """Forty thousand pages without text."""
    settings = GenerateSettings(n_pages=40_000, seed=3, with_text=False)
    return generate_files(tmp_path_factory.mktemp("bare"), settings, workers=1)


@pytest.fixture(scope="module")
def metadata(bare: GeneratedFiles) -> list[dict[str, Any]]:
    return records(bare.metadata)


def test_metadata_has_the_official_fields(metadata: list[dict[str, Any]]) -> None:
    fields = ["page_id", "quality_score", "quality_score_disc", "geographic_locations", "gender"]
    assert len(metadata) == 40_000
    assert all(list(record) == fields for record in metadata)
    ids = [record["page_id"] for record in metadata]
    assert all(a < b for a, b in pairwise(ids))
    assert len(set(np.diff(ids).tolist())) > 20
    assert {place for record in metadata for place in record["geographic_locations"] or []} <= CONTINENTS


def test_quality_class_is_a_sixth_of_the_score(metadata: list[dict[str, Any]]) -> None:
    known = [record for record in metadata if record["quality_score"] is not None]
    assert all(record["quality_score_disc"] == WORK_ORDER[min(5, int(record["quality_score"] * 6))] for record in known)
    assert 0 < len(metadata) - len(known) < 100
    assert all(record["quality_score_disc"] is None for record in metadata if record["quality_score"] is None)


def test_groups_are_mixed_as_published(metadata: list[dict[str, Any]], worked_examples: dict[str, Any]) -> None:
    corpus = worked_examples["corpus_2021"]
    published = np.array(corpus["geo_x_gender_counts"], float)
    order = worked_examples["geo_order"]
    found = np.zeros((8, 4))
    for record in metadata:
        genders = record["gender"] or ["unknown"]
        column = ["unknown", "female", "male"].index(genders[0]) if genders[0] in ("unknown", "female", "male") else 3
        for place in record["geographic_locations"] or ["Unknown"]:
            found[order.index(place), column] += 1
    np.testing.assert_allclose(found / found.sum(), published / published.sum(), atol=0.01)


def test_quality_is_mixed_as_in_the_published_topic(
    metadata: list[dict[str, Any]], worked_examples: dict[str, Any]
) -> None:
    published = worked_examples["topic1_agriculture"]["quality_counts"]
    found = Counter(record["quality_score_disc"] for record in metadata)
    for name in WORK_ORDER:
        assert found[name] / 40_000 == pytest.approx(published[name] / 6964, abs=0.03)


def test_metadata_has_the_oddities_of_the_official_file(metadata: list[dict[str, Any]]) -> None:
    several = sum(len(record["geographic_locations"] or []) == 2 for record in metadata)
    assert 0.005 < several / 40_000 < 0.03
    assert any(record["gender"] is None for record in metadata)
    assert any(record["gender"] == [] for record in metadata)
    assert any(record["geographic_locations"] is None for record in metadata)
    genders = {value for record in metadata for value in record["gender"] or []}
    assert genders - {"male", "female"}


def test_topics_have_the_official_fields(bare: GeneratedFiles) -> None:
    train, evaluation, qrels = records(bare.topics), records(bare.eval_topics), records(bare.eval_qrels)
    assert [topic["id"] for topic in train] == list(range(1, 25))
    assert [topic["id"] for topic in evaluation] == [topic["id"] for topic in qrels] == list(range(101, 125))
    assert all(list(t) == ["id", "title", "keywords", "scope", "homepage", "rel_docs"] for t in train)
    assert all(list(t) == ["id", "title", "keywords", "scope"] for t in evaluation)
    assert all(list(t) == ["id", "title", "rel_docs", "assessed_docs", "max_tier"] for t in qrels)
    assert len({topic["title"] for topic in train + evaluation}) == 48
    assert all(5 <= len(topic["keywords"]) <= 40 for topic in train + evaluation)
    assert all(len(topic["scope"]) > 80 for topic in train + evaluation)


def test_judgments_are_sorted_known_pages(bare: GeneratedFiles, metadata: list[dict[str, Any]]) -> None:
    pages = {record["page_id"] for record in metadata}
    for topic in records(bare.topics) + records(bare.eval_qrels):
        assert topic["rel_docs"] == sorted(set(topic["rel_docs"]))
        assert topic["rel_docs"]
        assert pages.issuperset(topic["rel_docs"])


def test_pools_hold_relevant_and_other_pages_in_tiers(bare: GeneratedFiles) -> None:
    qrels = records(bare.eval_qrels)
    for topic in qrels:
        assert set(topic["rel_docs"]) < set(topic["assessed_docs"])
        assert topic["assessed_docs"] == sorted(set(topic["assessed_docs"]))
    assert Counter(topic["max_tier"] for topic in qrels) == {1: 6, 2: 12, 3: 6}
    assert 150 < np.mean([len(topic["rel_docs"]) for topic in qrels]) < 500


def test_topics_lean_towards_groups(bare: GeneratedFiles, metadata: list[dict[str, Any]]) -> None:
    by_id = {record["page_id"]: record for record in metadata}
    men, european = [], []
    for topic in records(bare.topics):
        pages = [by_id[page] for page in topic["rel_docs"]]
        people = [page["gender"][0] for page in pages if page["gender"]]
        places = [place for page in pages for place in page["geographic_locations"] or []]
        men.append(people.count("male") / len(people))
        european.append(places.count("Europe") / len(places))
    assert max(men) > 0.85
    assert min(men) < 0.75
    assert max(european) > 2 * min(european)


def test_the_shape_of_the_track_comes_out_exactly(tmp_path: Path) -> None:
    settings = official_shape(n_pages=80_000)
    files = generate_files(tmp_path, settings, workers=1)
    train, qrels = records(files.topics), records(files.eval_qrels)
    assert len(train) == 57
    assert (
        sum(len(topic["rel_docs"]) for topic in train)
        == settings.train_judgments
        == round(2_185_446 * 80_000 / 6_023_415)
    )
    assert [topic["id"] for topic in qrels] == [n for n in range(101, 151) if n != 133]
    assert sum(len(topic["rel_docs"]) for topic in qrels) == settings.eval_judgments == 13_757
    assert official_shape().train_judgments == 2_185_446
    assert files.corpus is None


def test_same_settings_same_bytes_whatever_the_workers(tmp_path: Path) -> None:
    settings = GenerateSettings(n_pages=2500, n_train_topics=5, n_eval_topics=4, seed=11)
    folders = [tmp_path / name for name in ("one", "two")]
    for workers, folder in enumerate(folders, start=1):
        generate_files(folder, settings, workers=workers)
    names = sorted(path.name for path in folders[0].iterdir())
    assert len(names) == 5
    assert all((folders[0] / name).read_bytes() == (folders[1] / name).read_bytes() for name in names)


def test_another_seed_gives_another_collection_and_text_changes_nothing_else(tmp_path: Path) -> None:
    size = {"n_pages": 300, "n_train_topics": 2, "n_eval_topics": 2}
    with_text = generate_files(tmp_path / "a", GenerateSettings(**size, seed=1), workers=1)
    without = generate_files(tmp_path / "b", GenerateSettings(**size, seed=1, with_text=False), workers=1)
    other = generate_files(tmp_path / "c", GenerateSettings(**size, seed=2, with_text=False), workers=1)
    assert with_text.metadata.read_bytes() == without.metadata.read_bytes()
    assert with_text.eval_qrels.read_bytes() == without.eval_qrels.read_bytes()
    assert other.metadata.read_bytes() != without.metadata.read_bytes()


class Interrupting:
    """Progress that stops the work after the first block."""

    def update(self, n: float = 1) -> None:
        raise KeyboardInterrupt

    def close(self) -> None:
        return None


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_run_leaves_the_old_files(tmp_path: Path, workers: int) -> None:
    (tmp_path / "trec_metadata.json.gz").write_bytes(b"old")
    (tmp_path / UNFINISHED).mkdir()
    (tmp_path / UNFINISHED / "left over by a killed run").touch()
    with pytest.raises(KeyboardInterrupt):
        generate_files(tmp_path, GenerateSettings(n_pages=3000), Interrupting(), workers)
    assert [path.name for path in tmp_path.iterdir()] == ["trec_metadata.json.gz"]
    assert (tmp_path / "trec_metadata.json.gz").read_bytes() == b"old"


def test_unlisted_pages_are_in_the_corpus_only(tmp_path: Path) -> None:
    settings = GenerateSettings(n_pages=400, n_train_topics=2, n_eval_topics=2, unlisted_share=0.1)
    files = generate_files(tmp_path, settings, workers=1)
    assert files.corpus is not None
    listed = {record["page_id"] for record in records(files.metadata)}
    corpus = {record["id"] for record in records(files.corpus)}
    assert len(listed) == 400
    assert listed < corpus
    assert len(corpus - listed) == pytest.approx(102, abs=1)


def test_more_topics_than_subjects_have_titles_of_their_own(tmp_path: Path) -> None:
    settings = GenerateSettings(n_pages=400, n_train_topics=70, n_eval_topics=60, with_text=False)
    files = generate_files(tmp_path, settings, workers=1)
    topics = records(files.topics) + records(files.eval_topics)
    assert len({topic["title"] for topic in topics}) == 130
    assert all(topic["rel_docs"] for topic in records(files.topics) + records(files.eval_qrels))


def test_bad_settings_are_named_all_at_once() -> None:
    with pytest.raises(EvenrankError, match=r"(?s)pages are too few.*at most 100.*between 0 and 1"):
        GenerateSettings(n_pages=5, n_train_topics=101, tagged_share=1.5)
    with pytest.raises(EvenrankError, match="no topic"):
        GenerateSettings(n_train_topics=0, n_eval_topics=0)


def test_impossible_counts_are_said(tmp_path: Path) -> None:
    with pytest.raises(EvenrankError, match="topics are too many"):
        generate_files(tmp_path, GenerateSettings(n_pages=100, n_eval_topics=5000, with_text=False))
    with pytest.raises(EvenrankError, match="judgments were asked for"):
        generate_files(tmp_path, GenerateSettings(n_pages=100, train_judgments=10**6, with_text=False), workers=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("n", "split"), [(1, (0, 1)), (2, (1, 1)), (49, (24, 25)), (300, (100, 200))])
def test_topics_are_split_half_and_half(n: int, split: tuple[int, int]) -> None:
    assert split_topics(n) == split
