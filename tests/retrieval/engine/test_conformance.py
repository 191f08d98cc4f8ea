"""One suite over all engines: the same pages, the same scores, whatever the corpus and whatever is asked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.engines import engine_kind
from evenrank.retrieval.engine.protocol import (
    TEXT_FIELDS,
    Engine,
    EngineUnavailableError,
    IndexLayout,
    IndexPage,
    Query,
    Restriction,
    WeightedTerm,
)
from tests.retrieval.conftest import page
from tests.retrieval.engine.cluster import opensearch_address

pytestmark = [pytest.mark.xdist_group("opensearch"), pytest.mark.slow]
LAYOUT = IndexLayout()
WORDS = ["horse", "horses", "rider", "river", "rights", "human", "café", "box", "boxing", "!!!"]
"""Words of random pages: some share a stem, one has an accent, one is no word."""
NO_WORDS = ["", "!!!", "x" * 50]
"""Texts without a word."""
NUMBERS = count(1)
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    found = opensearch_address()
    yield found
    from opensearchpy import OpenSearch

    hosts = [f"http://{host}" for host in found.removeprefix("opensearch://").split(",")]
    OpenSearch(hosts, timeout=300).indices.delete(index="conformance-*")  # a busy machine takes its time


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conformance")


def make(address: str, folder: Path, pages: list[IndexPage]) -> Engine:
    """A committed index of the pages, on a fresh place of the engine."""
    number = next(NUMBERS)
    place = f"{address}/conformance-{number}?shards=2" if address.startswith("opensearch") else address
    engine = engine_kind(place).create(place, folder / f"{place.partition(':')[0]}-{number}", LAYOUT, 1)
    engine.add(pages)
    engine.commit("made")
    return engine


texts = st.one_of(st.sampled_from(NO_WORDS), st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))


@st.composite
def corpora(draw: st.DrawFn) -> list[IndexPage]:
    """Pages of which many lack some fields."""
    ids = draw(st.lists(st.integers(1, 500), min_size=1, max_size=14, unique=True))
    return [
        IndexPage(
            page_id,
            title=draw(texts),
            lead=draw(texts),
            text=draw(st.one_of(texts, st.just("Ann Lee (born 1950) is a rider"))),
            categories=draw(st.one_of(st.just(""), texts)),
            infobox=draw(st.one_of(st.just(""), texts)),
            kind=draw(st.one_of(st.just(""), texts)),
            masks={"geography": draw(st.integers(1, 255)), "gender": draw(st.integers(1, 15))},
            quality_class=draw(st.integers(0, 6)),
        )
        for page_id in ids
    ]


STEMS = ["hors", "rider", "river", "right", "human", "cafe", "box", "horse", "boxing", "absent", "biography"]
terms = st.builds(
    WeightedTerm,
    field=st.sampled_from(TEXT_FIELDS),
    words=st.lists(st.sampled_from(STEMS), min_size=1, max_size=3).map(tuple),
    weight=st.sampled_from([1.0, 0.5, 2.75]),
)
phrases = st.builds(
    WeightedTerm,
    field=st.sampled_from(["title", "lead", "categories"]),
    words=st.lists(st.sampled_from(STEMS), min_size=2, max_size=3, unique=True).map(tuple),
    is_phrase=st.just(True),
)
together = st.builds(
    WeightedTerm,
    field=st.sampled_from(TEXT_FIELDS),
    words=st.sampled_from([("hors",), ("horse", "rider")]),
    weight=st.sampled_from([1.0, 0.5]),
    with_words=st.lists(st.sampled_from([("river",), ("right", "human")]), min_size=1, max_size=2).map(tuple),
)
restrictions = st.builds(
    Restriction,
    groups=st.sampled_from([{}, {"geography": 0b1100}, {"gender": 0b10, "geography": 0b11}]),
    page_ids=st.one_of(st.none(), st.lists(st.integers(1, 500), max_size=60)),
    up_to_page_id=st.one_of(st.none(), st.integers(1, 500)),
)
queries = st.builds(
    Query,
    st.lists(st.one_of(terms, phrases, together), min_size=1, max_size=5),
    st.sampled_from([1, 3, 100]),
    restrictions,
)


@settings(
    max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(pages=corpora(), asked=st.lists(queries, min_size=1, max_size=8))
def test_both_engines_give_the_same_answers(
    address: str, folder: Path, pages: list[IndexPage], asked: list[Query]
) -> None:
    here, there = make("tantivy", folder, pages), make(address, folder, pages)
    for query, ours, theirs in zip(asked, here.search_many(asked), there.search_many(asked), strict=True):
        np.testing.assert_allclose(theirs.scores, ours.scores, rtol=TOLERANCE, err_msg=str(query))
        tied = np.isclose(ours.scores[:, None], ours.scores, rtol=TOLERANCE).sum(0) > 1
        assert (theirs.page_ids[~tied] == ours.page_ids[~tied]).all()
        if query.k >= len(pages):
            assert set(theirs.page_ids) == set(ours.page_ids)
    for field in TEXT_FIELDS:
        assert there.document_frequencies(field, STEMS) == here.document_frequencies(field, STEMS)
    ids = [known.page_id for known in pages] + [999]
    for name in ("geography", "gender", "quality_class"):
        np.testing.assert_array_equal(there.values(name, ids), here.values(name, ids))
    assert there.stored(ids) == here.stored(ids)
    assert there.page_ids().tolist() == here.page_ids().tolist()


@pytest.fixture(params=["tantivy", "opensearch"])
def place(request: pytest.FixtureRequest) -> str:
    return opensearch_address() if request.param == "opensearch" else "tantivy"


def test_a_page_added_again_takes_the_place_of_the_first(place: str, folder: Path) -> None:
    engine = make(place, folder, [page(1, "Horse", "a horse"), page(2, "Cow", "a cow")])
    engine.add([page(1, "Cow", "two cows")])
    engine.delete([2])
    engine.commit("later")
    assert engine.search([WeightedTerm("text", ("cow",))], 5).page_ids.tolist() == [1]
    assert engine.search([WeightedTerm("text", ("hors",))], 5).page_ids.tolist() == []
    assert engine.statistics().n_pages == 1
    assert engine.mark() == "later"


def test_a_build_that_was_opened_again_knows_its_mark(place: str, folder: Path) -> None:
    number = next(NUMBERS)
    named = f"{place}/conformance-{number}" if "://" in place else place
    kind, home = engine_kind(named), folder / f"again-{number}"
    first = kind.create(named, home, LAYOUT, 1)
    first.add([page(1, "Horse", "a horse")])
    first.commit("one")
    first.add([page(2, "Horse", "another horse")])
    first.close()
    again = kind.open(named, home, LAYOUT, 1)
    assert again.mark() == "one"
    again.add([page(2, "Horse", "another horse")])
    again.commit("two")
    again.publish()
    assert again.search([WeightedTerm("title", ("hors",))], 5).page_ids.tolist() == [1, 2]


def test_ties_at_the_cut_are_ordered_by_page_id(place: str, folder: Path) -> None:
    engine = make(place, folder, [page(number, "Horse", "a horse") for number in range(200, 0, -1)])
    assert engine.search([WeightedTerm("title", ("hors",))], 7).page_ids.tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_nothing_asked_finds_nothing(place: str, folder: Path) -> None:
    engine = make(place, folder, [page(1, "Horse", "a horse")])
    assert engine.search([], 5).page_ids.tolist() == []
    assert engine.search_many([]) == []
    assert engine.document_frequencies("text", []) == []
    assert engine.search([WeightedTerm("title", ("hors",))], 0).page_ids.tolist() == []


def test_a_cluster_that_is_away_is_said_to_be_so(tmp_path: Path) -> None:
    pytest.importorskip("opensearchpy")
    nowhere = "opensearch://127.0.0.1:9"
    with pytest.raises(EngineUnavailableError, match=r"does not answer at 127\.0\.0\.1:9"):
        engine_kind(nowhere).create(nowhere, tmp_path, LAYOUT, 1)


def test_an_index_has_shards_by_its_size() -> None:
    from evenrank.retrieval.engine.opensearch_index import PAGES_PER_SHARD, shards_for

    sizes = (0, 1, PAGES_PER_SHARD, PAGES_PER_SHARD + 1, 7_000_000)
    assert [shards_for(n_pages) for n_pages in sizes] == [1, 1, 1, 2, 14]


@pytest.mark.parametrize("wrong", ["opensearch://", "opensearch://host:1?shards=0", "opensearch://host:1?size=3"])
def test_wrong_addresses_are_refused_with_their_form(tmp_path: Path, wrong: str) -> None:
    pytest.importorskip("opensearchpy")
    with pytest.raises(EvenrankError, match="is not the address of an index"):
        engine_kind(wrong).create(wrong, tmp_path, LAYOUT, 1)
