"""Whatever takes a name takes an object: measures, policies, dimensions, protocols, attention, targets, engines, …"""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import evenrank
from evenrank.app.exports.publishing import run_listing, wikitext_of
from evenrank.core.exposure import parse_attention
from evenrank.core.problem import QueryView
from evenrank.core.rng import derive
from evenrank.errors import EvenrankError, MissingExtraError, UnknownNameError, WrongTypeError
from evenrank.retrieval.engine.engines import open_index
from evenrank.retrieval.engine.protocol import Engine, IndexLayout
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.scoring.campaigns.registry import CAMPAIGNS
from evenrank.trec.generate.settings import world_settings

GROUPS = {f"i{item}": "abc"[item % 3] for item in range(30)}
WANTED = {"a": 0.2, "b": 0.2, "c": 0.6}


@evenrank.measure("FirstRelevant", tasks=(1, 2), low=0.0, high=1.0)
def first_relevant(view: QueryView) -> float:
    """Whether the first item is relevant."""
    return float(view.is_relevant[0]) if len(view.is_relevant) else 0.0


@evenrank.policy("backwards", tasks=(1, 2))
def backwards(candidates: Any, target: Any, request: Any, rng: Any, *, n_first: int = 0) -> Any:
    """The least relevant items first, below some of the best ones."""
    best = np.argsort(-candidates.relevance, kind="stable")
    return np.concatenate([best[:n_first], best[n_first:][::-1]])[: request.length]


@pytest.fixture(scope="module")
def items() -> dict[str, dict[str, float]]:
    rng = derive(2, "items")
    return {f"q{query}": dict(zip(GROUPS, rng.random(30).tolist(), strict=True)) for query in range(8)}


@pytest.fixture(scope="module")
def relevance(items: dict[str, dict[str, float]]) -> dict[str, dict[str, int]]:
    return {query: {item: int(value > 0.6) for item, value in row.items()} for query, row in items.items()}


@pytest.fixture(scope="module")
def scores(items: Any, relevance: Any) -> evenrank.ItemScores:
    shuffled = {query: dict(zip(row, reversed(row.values()), strict=True)) for query, row in items.items()}
    systems = {"good": items, "bad": shuffled}
    return evenrank.score(systems, GROUPS, relevance, measures=[first_relevant, "AWRF", "nDCG@5"])


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("objects") / "world"
    evenrank.build_index(evenrank.generate_collection(folder, world_settings(n_pages=1200, n_topics=6, seed=4)))
    return folder


def test_measures_in_comparisons_and_trust(scores: evenrank.ItemScores) -> None:
    rows = evenrank.compare(scores, "bad", measures=[first_relevant, "nDCG@5"]).rows
    assert [row.measure for row in rows] == ["FirstRelevant", "nDCG@5"]
    assert evenrank.compare(scores, "bad", measures="FirstRelevant,nDCG@5").rows == rows
    found = evenrank.trust(scores, measure=first_relevant)
    assert (found.measure, found.runs[0].run) == ("FirstRelevant", "good")
    with pytest.raises(UnknownNameError, match=r"'FirstRelevant@3'; choose from .*others were not computed"):
        evenrank.compare(scores, "bad", measures=[first_relevant.at(3)])


def test_measures_and_policies_in_tradeoffs_and_tuning(items: Any, relevance: Any, tmp_path: Path) -> None:
    found = evenrank.tradeoff(items, GROUPS, relevance, WANTED, k=10, values=(0, 10), measures=[first_relevant])
    assert list(found.scores.systems[0].scores) == ["nDCG", "AWRF", "FirstRelevant"]
    own = evenrank.OwnData(items, GROUPS, relevance, WANTED, k=10)
    options: dict[str, Any] = {"measures": [first_relevant, "Ndcg@5"], "budget": 2, "workers": 2, "folder": tmp_path}
    tuned = evenrank.tune(own, backwards, space={"n_first": [1]}, **options)
    assert tuned.measures == ("FirstRelevant", "nDCG@5")
    assert tuned.settings == {"n_first": "1"}
    assert tuned.default_value < tuned.value
    fixed = evenrank.tune(own, backwards(n_first=1), **{**options, "budget": 1})
    assert fixed.default_value == tuned.value, "a policy object is not another one of its name"


def test_the_attention_that_is_scored_is_the_one_that_is_served(items: Any, relevance: Any) -> None:
    steep = parse_attention("rbp:0.5")

    def awrf(**options: Any) -> float:
        fair = evenrank.rerank(items, GROUPS, WANTED, k=10, **options)
        return float(evenrank.score(fair, GROUPS, relevance, WANTED, attention=steep).scores["AWRF"])

    assert awrf(attention=steep) == awrf(attention="rbp:0.5") > awrf()
    assert awrf(attention=parse_attention("log")) == awrf()
    with pytest.raises(EvenrankError, match="policies need attention that does not rise"):
        awrf(attention=[0.5, 1.0])
    with pytest.raises(UnknownNameError, match="attention model 'steep'"):
        awrf(attention="steep")
    own = [evenrank.OwnData(items, GROUPS, relevance, WANTED, k=10, attention=one) for one in ("log", steep)]
    assert own[0].fingerprint() != own[1].fingerprint()
    log, other = (one.score("optimal", {}, one.queries("eval"), ["AWRF"], 0)["AWRF"] for one in own)
    assert log.keys() == other.keys()
    assert log != other


class Halving:
    """A browsing model of one's own: every second reader continues."""

    def weights(self, n_ranks: int) -> Any:
        return 0.5 ** np.arange(n_ranks)


def _halving(rank: int) -> float:
    return 0.5 ** (rank - 1)


@pytest.mark.parametrize("own", [Halving, Halving(), _halving])
def test_a_browsing_model_of_ones_own(own: Any, items: Any, relevance: Any, collection: Path) -> None:
    """As a class, an object or a function it does what the built-in model of the same weights does."""

    def results(model: Any) -> list[Any]:
        fair = evenrank.rerank(items, GROUPS, WANTED, k=10, attention=model)
        scores = evenrank.score(fair, GROUPS, relevance, WANTED, attention=model)
        ranked = evenrank.rank(collection, policy="greedy", attention=model)
        evaluated = evenrank.evaluate(collection, [ranked.run], attention=model, n_resamples=2)
        return [fair.to_dict(), scores.scores["AWRF"], ranked.run.pages.tolist(), evaluated.runs[0].scores["AWRF"]]

    def near(found: Any) -> Any:
        return pytest.approx(found, rel=1e-9) if isinstance(found, float) else found

    assert results(own) == [near(one) for one in results("rbp:0.5")]


def test_a_wrong_browsing_model_is_named(items: Any) -> None:
    def broken(rank: int) -> float:
        return 1.0 / (3 - rank)

    for wrong, message in [
        (broken, r"attention broken, rank 3: ZeroDivisionError: .*test_objects\.py:\d+\)"),
        (lambda rank: -rank, "attention: rank 1 has -1, rank 2 has -2"),
        (lambda rank: "high", "rank 1 has 'high'"),
        (lambda rank: rank, "policies need attention that does not rise"),
        (evenrank.Collection, "attention Collection: TypeError"),
        (object, r"class has no method weights\(n_ranks\)"),
        (3, "a list of weights, a function of the rank, or an object with weights"),
    ]:
        with pytest.raises(EvenrankError, match=message):
            evenrank.rerank(items, GROUPS, WANTED, attention=wrong)


def test_what_rank_gives_is_a_run(collection: Path) -> None:
    """Its result is taken wherever a run is, alone or among others."""
    ranked = evenrank.rank(collection, policy="relevance")
    assert evenrank.evaluate(collection, ranked).to_json() == evenrank.evaluate(collection, ranked.run).to_json()
    other = replace(ranked.run, name="other")
    assert [one.run for one in evenrank.evaluate(collection, [ranked, other]).runs] == ["other", "relevance"]
    assert evenrank.show_run(collection, ranked) == evenrank.show_run(collection, ranked.run)
    assert evenrank.pool(collection, ranked) == evenrank.pool(collection, [ranked.run])
    with pytest.raises(WrongTypeError, match=r"a value of type Results is not accepted .*what `rank` gave"):
        evenrank.evaluate(collection, evenrank.evaluate(collection, ranked))  # type: ignore[arg-type]


def test_protocols_dimensions_and_targets_on_a_collection(collection: Path) -> None:
    shallow = replace(evenrank.PROTOCOLS["paper-2021"], name="shallow", task1_depth=10, task1_length=50)
    run = evenrank.rank(collection, policy="relevance", protocol=shallow).run
    geography = evenrank.DIMENSIONS["geography"]
    by_object = evenrank.evaluate(collection, run, shallow, geography)
    assert by_object.runs == evenrank.evaluate(collection, run, shallow, "geography").runs
    assert by_object.runs == evenrank.evaluate(collection, run, shallow, [geography]).runs
    with pytest.raises(EvenrankError, match="give the name of a dimension"):
        evenrank.evaluate(collection, run, groups=[3])  # type: ignore[list-item]
    tuned = evenrank.tune(collection, "proportional", protocol=shallow, target={"Africa": 1.0}, budget=1)
    assert tuned.measures == ("Score",), "no depth below the ten ranks of the protocol"
    plain = evenrank.tune(collection, "proportional", protocol=shallow, budget=1)
    assert plain.value != tuned.value


def test_a_campaign_as_an_object(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q -1 a 1\nq -1 b 0\n")
    (tmp_path / "run.txt").write_text("q s1 a 1 2 run\nq s1 b 2 1 run\n")
    files = (tmp_path / "run.txt", None, tmp_path / "qrels.txt")
    named = evenrank.score(*files, protocol="trec-2020")
    assert evenrank.score(*files, protocol=CAMPAIGNS["trec-2020"]).to_json() == named.to_json()
    with pytest.raises(WrongTypeError, match="those of the track serve evaluate"):
        evenrank.score(*files, protocol=evenrank.PROTOCOLS["paper-2021"])  # type: ignore[arg-type]


def _create(address: str, folder: Path, layout: IndexLayout, n_threads: int, n_pages: int | None = None) -> Engine:
    return TantivyEngine.create(Path(address.partition("://")[2]), layout, n_threads)


def _open(address: str, folder: Path, layout: IndexLayout, n_threads: int) -> Engine:
    return TantivyEngine.open(Path(address.partition("://")[2]), layout, n_threads)


def test_an_engine(collection: Path, tmp_path: Path) -> None:
    """No entry point names it: whoever opens the collection says which object opens its index."""
    folder = shutil.copytree(collection, tmp_path / "c")
    elsewhere = evenrank.EngineKind("elsewhere", "a folder of one's own", _create, _open)
    there = elsewhere.at(f"elsewhere://{tmp_path / 'far'}")
    evenrank.build_index(folder, engine=there, n_threads=1).close()
    assert (tmp_path / "far" / "meta.json").exists()
    opened = evenrank.Collection.open(folder, engine=elsewhere)
    found = evenrank.search(opened, "river")
    assert found == evenrank.search(collection, "river")
    ranked = [evenrank.rank(opened, policy="relevance", workers=workers).run for workers in (1, 2)]
    assert ranked[0].pages.tolist() == ranked[1].pages.tolist()
    tuned = [evenrank.tune(one, backwards, budget=1, workers=2) for one in (opened, collection)]
    assert tuned[0].value == tuned[1].value
    assert evenrank.build_index(opened, n_threads=1).statistics().n_pages
    with pytest.raises(UnknownNameError, match="unknown engine 'elsewhere:"):
        evenrank.search(folder, "river")
    with pytest.raises(EvenrankError, match="no address of the engine elsewhere"):
        elsewhere.at("opensearch://host")
    with pytest.raises(WrongTypeError, match="an address or an EngineKind"):
        evenrank.build_index(folder, engine=3)  # type: ignore[arg-type]


class _Failing:
    """An index that answers no search, and lacks all methods that no search needs."""

    def __init__(self, inner: Engine) -> None:
        self._inner, self.layout = inner, inner.layout

    def __getattr__(self, name: str) -> Any:
        if name in ("analyse", "document_frequencies", "refresh", "close"):
            return getattr(self._inner, name)
        raise AttributeError(name)

    def search_many(self, *_: Any) -> list[Any]:
        raise KeyError("x" * 5000)

    search = search_many


def _refusing(*_: object) -> Engine:
    raise OSError("no licence\nwith details")


def test_errors_inside_an_engine_name_it_and_its_line(collection: Path, tmp_path: Path) -> None:
    """Also where it cannot be opened, lacks a method or is asked by the command."""
    folder = shutil.copytree(collection, tmp_path / "c")
    elsewhere = evenrank.EngineKind("elsewhere", "a folder of one's own", _create, _open)
    evenrank.build_index(folder, engine=elsewhere.at(f"elsewhere://{tmp_path / 'far'}"), n_threads=1).close()
    place = r"\(.*test_objects\.py:\d+\)"
    refusing = replace(elsewhere, open=_refusing)
    with pytest.raises(EvenrankError, match=f"^engine elsewhere: OSError: no licence {place}$") as caught:
        evenrank.search(evenrank.Collection.open(folder, engine=refusing), "river")
    assert isinstance(caught.value.__cause__, OSError)
    failing = replace(elsewhere, open=lambda *given: cast(Engine, _Failing(_open(*given))))
    with pytest.raises(EvenrankError, match=f"^engine elsewhere: KeyError: 'x+… {place}$") as caught:
        evenrank.search(evenrank.Collection.open(folder, engine=failing), "river")
    assert len(str(caught.value)) < 2000
    opened = open_index(evenrank.Collection.open(folder, engine=failing))
    with pytest.raises(EvenrankError, match=r"^engine elsewhere: _Failing has no 'stored'$"):
        opened.stored([1])
    assert not hasattr(opened, "matches")


def test_an_export_format_of_a_wiki_page(collection: Path) -> None:
    opened = evenrank.Collection.open(collection)
    listing = run_listing(opened, evenrank.rank(opened, policy="relevance").run, opened.topics[-1].id, 3)
    bullets = evenrank.ExportFormat("bullets", "Bullets", "text/plain", lambda one: f"* {one.articles[0].title}")
    assert wikitext_of(listing, bullets) == f"* {listing.articles[0].title}"


def test_a_policy_that_reads_texts_is_named(items: Any) -> None:
    with pytest.raises(EvenrankError, match="policy mmr compares texts"):
        evenrank.rerank(items, GROUPS, policy=evenrank.POLICIES["mmr"])  # type: ignore[arg-type]


def test_without_pandas_every_result_says_what_to_install(
    scores: evenrank.ItemScores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    for result in (scores, evenrank.compare(scores, "bad"), evenrank.trust(scores)):
        with pytest.raises(MissingExtraError, match=r"evenrank\[pandas\]"):
            result.to_pandas()
