"""A generated collection behaves like the real one: BM25 finds most, not all; and its order is not fair."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import pytest
from numpy.typing import NDArray

from evenrank.trec.generate import GeneratedFiles, GenerateSettings, generate_files
from evenrank.wikipedia.annotate.wikitext import parse_wikitext

from .generated import records

WORLD = {
    "Africa": 0.155070563,
    "Antarctica": 1.54424e-07,
    "Asia": 0.600202585,
    "Europe": 0.103663858,
    "Latin America and the Caribbean": 0.08609797,
    "Northern America": 0.049616733,
    "Oceania": 0.005348137,
}
GENDER = np.array([0.495, 0.495, 0.01])


def alignment(record: dict[str, Any]) -> NDArray[np.float64]:
    """8 × 4 group weights of a page, by the words of METRICS: multi-hot, unknown when nothing is said."""
    places = [list(WORLD).index(place) + 1 for place in record["geographic_locations"] or []] or [0]
    names = [re.sub("^(trans|cis)gender ", "", name) for name in record["gender"] or []]
    genders = [{"female": 1, "male": 2}.get(name, 3) for name in names] or [0]
    matrix = np.zeros((8, 4))
    matrix[np.ix_(places, genders)] = 1
    return matrix


def target(relevant: NDArray[np.float64]) -> NDArray[np.float64]:
    """31 cells that exposure should be shared over."""
    world = np.array(list(WORLD.values()))
    matrix = relevant.sum(axis=0)
    matrix[0, 0] = 0
    matrix /= matrix.sum()
    for section, background in (
        (np.s_[1:, 1:], np.outer(world, GENDER)),
        (np.s_[1:, 0], world),
        (np.s_[0, 1:], GENDER),
    ):
        matrix[section] = (matrix[section] + matrix[section].sum() * background) / 2
    return matrix.ravel()[1:]


def awrf(ranking: NDArray[np.float64], wanted: NDArray[np.float64]) -> float:
    """1 − Jensen–Shannon divergence (natural logarithm) between the ranking's exposure and the target."""
    weights = 1 / np.log2(np.maximum(np.arange(1, len(ranking) + 1), 2))
    exposure = np.tensordot(weights, ranking, 1).ravel()[1:]
    exposure /= exposure.sum()
    middle = (exposure + wanted) / 2
    parts = [float((p[p > 0] * np.log(p[p > 0] / middle[p > 0])).sum()) for p in (exposure, wanted)]
    return 1 - sum(parts) / 2


def test_the_fairness_measure_of_this_test(worked_examples: dict[str, Any]) -> None:
    topic = worked_examples["topic1_agriculture"]
    counts = np.array(topic["geo_x_gender_counts"], float)[None]
    np.testing.assert_allclose(target(counts), topic["task1_target_31"], rtol=1e-6)
    disjoint = np.zeros((1, 8, 4))
    disjoint[0, 2, 2] = 1
    assert awrf(disjoint, np.eye(31)[0]) == pytest.approx(1 - np.log(2))


def words(text: str) -> list[str]:
    return re.findall(r"\w\w+", text.lower())


@pytest.fixture(scope="module", params=[0, 1], ids=["seed 0", "seed 1"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> GeneratedFiles:
    folder: Path = tmp_path_factory.mktemp("behaviour")
    return generate_files(folder, GenerateSettings(n_pages=5000, seed=request.param), workers=1)


@pytest.fixture(scope="module")
def scores(files: GeneratedFiles) -> dict[str, NDArray[np.float64]]:
    """Per evaluation topic: what BM25 over title and cleaned text reaches with title and keywords as query."""
    assert files.corpus is not None
    articles = records(files.corpus)
    groups = np.array([alignment(record) for record in records(files.metadata)])
    ids = np.array([article["id"] for article in articles])
    pages = [(article["title"], parse_wikitext(article["text"])) for article in articles]
    texts = [words(" ".join([title, page.lead, *(s.text for s in page.sections)])) for title, page in pages]
    index = bm25s.BM25(k1=0.9, b=0.4)
    index.index(texts, show_progress=False)
    rows = []
    for topic, judged in zip(records(files.eval_topics), records(files.eval_qrels), strict=True):
        score = index.get_scores(words(" ".join([topic["title"], *topic["keywords"]])))
        order = np.argsort(-score, kind="stable")
        relevant = np.isin(ids, judged["rel_docs"])
        hits = relevant[order]
        precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        rows.append(
            (precision[9], precision[hits].mean(), relevant.mean(), awrf(groups[order[:20]], target(groups[relevant])))
        )
    return dict(zip(("P@10", "AP", "random", "AWRF"), np.array(rows).T, strict=True))


def test_bm25_finds_most_but_not_all(scores: dict[str, NDArray[np.float64]]) -> None:
    assert 0.4 <= scores["P@10"].mean() <= 0.8
    assert scores["P@10"].std() > 0.1
    assert 0.25 < scores["AP"].mean() < 0.75
    assert scores["AP"].mean() > 10 * scores["random"].mean()


def test_relevance_alone_is_not_fair(scores: dict[str, NDArray[np.float64]]) -> None:
    assert scores["AWRF"].mean() <= 0.85
    assert (scores["AWRF"] < 0.9).mean() > 0.75
