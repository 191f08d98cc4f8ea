"""Generated articles: real wikitext, as much of it as the quality says, about the place it should be about."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from evenrank.core.records import WORK_ORDER
from evenrank.trec.generate import GeneratedFiles, GenerateSettings, generate_files, tables
from evenrank.wikipedia.annotate.quality import (
    QualityCounts,
    quality_classes,
    quality_counts,
    quality_models,
    quality_scores,
)
from evenrank.wikipedia.annotate.wikitext import PageText, parse_wikitext

from .generated import records

LEFTOVER = re.compile(r"\{\{|\}\}|\[\[|\]\]|<ref|</ref|\{\w+\}|%s|'''")
"""Markup that a cleaner would not leave, and slots that were not filled."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> GeneratedFiles:
    return generate_files(tmp_path_factory.mktemp("text"), GenerateSettings(n_pages=2000, seed=5), workers=1)


@pytest.fixture(scope="module")
def articles(files: GeneratedFiles) -> list[dict[str, Any]]:
    assert files.corpus is not None
    return records(files.corpus)


@pytest.fixture(scope="module")
def metadata(files: GeneratedFiles) -> list[dict[str, Any]]:
    return records(files.metadata)


@pytest.fixture(scope="module")
def pages(articles: list[dict[str, Any]]) -> list[PageText]:
    return [parse_wikitext(article["text"]) for article in articles]


def test_corpus_has_the_official_fields(articles: list[dict[str, Any]], metadata: list[dict[str, Any]]) -> None:
    assert all(list(article) == ["id", "title", "url", "text"] for article in articles)
    assert [article["id"] for article in articles] == [record["page_id"] for record in metadata]
    assert len({article["title"] for article in articles}) == len(articles)
    assert not any(article["text"].lower().startswith("#redirect") for article in articles)


def test_markup_is_well_formed(articles: list[dict[str, Any]], pages: list[PageText]) -> None:
    for article, page in zip(articles, pages, strict=True):
        text = article["text"]
        assert text.count("{{") == text.count("}}"), article["title"]
        assert text.count("[[") == text.count("]]"), article["title"]
        assert f"'''{article['title']}'''" in text
        visible = page.lead + "".join(section.text for section in page.sections)
        assert not LEFTOVER.search(visible), (article["title"], LEFTOVER.search(visible))


def test_articles_have_all_kinds_of_wikitext(articles: list[dict[str, Any]]) -> None:
    everything = "\n".join(article["text"] for article in articles)
    for mark in (
        "{{Infobox person", "{{Infobox settlement", "<ref>{{cite book", '<ref name="', "{{cite news", "[[File:",
        "[[Category:", "\n== References ==", "\n=== ", '{| class="wikitable"', "<!--", "{{DEFAULTSORT:", "{{stub}}",
    ):  # fmt: skip
        assert mark in everything, mark
    assert re.search(r"\[\[[A-Z][^|\]]+\|[a-z]", everything)


def test_the_quality_model_of_the_track_finds_the_score(pages: list[PageText], metadata: list[dict[str, Any]]) -> None:
    model = quality_models()["v1"]
    columns = np.array([quality_counts(page.counts) for page in pages], float).T
    found = quality_scores(model, QualityCounts(*columns), model.published_percentiles())
    known = np.array([record["quality_score"] is not None for record in metadata])
    said = np.array([record["quality_score"] for record in metadata if record["quality_score"] is not None])
    assert np.corrcoef(found[known], said)[0, 1] > 0.98
    classes = [WORK_ORDER.index(record["quality_score_disc"]) for record in metadata if record["quality_score_disc"]]
    assert (quality_classes(model, found)[known] == classes).mean() > 0.85


def test_better_articles_hold_more(pages: list[PageText], metadata: list[dict[str, Any]]) -> None:
    by_class: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for page, record in zip(pages, metadata, strict=True):
        counts = page.counts
        by_class[record["quality_score_disc"]].append((counts.n_bytes, counts.n_references, counts.n_media))
    means = np.array([np.mean(by_class[name], axis=0) for name in WORK_ORDER])
    assert (np.diff(means, axis=0) > 0).all()


def test_geography_can_be_read_in_the_text(pages: list[PageText], metadata: list[dict[str, Any]]) -> None:
    words: dict[str, list[str]] = defaultdict(list)
    for row in tables.table_rows("countries"):
        words[row["continent"]] += [row["country"], row["demonym"]]
    named = [
        any(word in page.lead for word in words[record["geographic_locations"][0]])
        for page, record in zip(pages, metadata, strict=True)
        if record["geographic_locations"]
    ]
    assert np.mean(named) > 0.95
    unknown = [page.lead for page, record in zip(pages, metadata, strict=True) if not record["geographic_locations"]]
    everywhere = [word for names in words.values() for word in names]
    assert np.mean([any(re.search(rf"\b{word}\b", lead) for word in everywhere) for lead in unknown]) < 0.05


def test_biographies_are_of_people(articles: list[dict[str, Any]], metadata: list[dict[str, Any]]) -> None:
    pronoun = {"female": re.compile(r"\b(She|Her|her)\b"), "male": re.compile(r"\b(He|His|his)\b")}
    for article, record in zip(articles, metadata, strict=True):
        is_person = bool(record["gender"])
        assert ("births]]" in article["text"]) == is_person
        if record["gender"] == ["female"]:
            assert not pronoun["male"].search(article["text"])
        if record["gender"] == ["male"]:
            assert not pronoun["female"].search(article["text"])


def test_texts_vary_and_words_are_distributed_as_in_language(pages: list[PageText]) -> None:
    assert len({page.lead for page in pages}) == len(pages)
    counts: dict[str, int] = defaultdict(int)
    for page in pages:
        for word in re.findall(r"\w+", (page.lead + "".join(s.text for s in page.sections)).lower()):
            counts[word] += 1
    frequencies = np.array(sorted(counts.values(), reverse=True), float)
    ranks = np.arange(1, len(frequencies) + 1)
    slope = np.polyfit(np.log(ranks[:5000]), np.log(frequencies[:5000]), 1)[0]
    assert len(frequencies) > 8000
    assert -1.6 < slope < -0.7
