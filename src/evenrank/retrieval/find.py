"""`evenrank.search`: find articles by words, for all groups or for one, and explain why an article was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenrank.core.records import Topic
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.retrieval.engine.engines import index_folder, open_index
from evenrank.retrieval.engine.protocol import Engine, Query, Restriction, WeightedTerm, merge_terms
from evenrank.retrieval.features import HybridModel
from evenrank.retrieval.learn.learned_model import LearnedModel
from evenrank.retrieval.model_choice import ModelChoice, choose_model
from evenrank.retrieval.query.candidates import CandidateSettings
from evenrank.retrieval.query.people import names_people, people_term
from evenrank.retrieval.relevance import LexicalModel, RelevanceModel, ScoredPages, SearchSettings, probability_by_rank
from evenrank.trec.collection import Collection, as_collection

if TYPE_CHECKING:
    import pandas as pd


Parts = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Explanation:
    """What a page's score is made of; words by falling contribution, features by its size."""

    page_id: int
    words: Parts
    """Terms of the query with what they add to the lexical score, as `field:word`."""
    features: Parts = field(default=())
    """Features with what they add to the score; empty for words alone, and for a page below those looked at."""

    def __str__(self) -> str:
        words = ", ".join(f"{name} {value:.3f}" for name, value in self.words[:10])
        features = ", ".join(f"{name} {value:+.2f}" for name, value in self.features[:10])
        return f"page {self.page_id}: {words}" + (f"; {features}" if features else "")


def explain(model: RelevanceModel, topic: Topic, page_id: int, n_pages: int = 1000) -> Explanation:
    """The reasons for one page of a topic, which must be among those that the model finds."""
    found = model.score(topic, n_pages)
    if isinstance(model, LearnedModel | HybridModel) and page_id not in found.page_ids:
        raise EvenrankError(f"page {page_id} is not among the {len(found)} pages found for topic {topic.id}")
    return explain_found(model, topic, found, [page_id])[0]


def explain_found(
    model: RelevanceModel, topic: Topic, found: ScoredPages, page_ids: Sequence[int]
) -> list[Explanation]:
    """The reasons for some of the pages that the model has found."""
    lexical = lexical_part(model)
    terms = lexical.terms(topic)
    bonus = lexical.settings.query.people_bonus
    if lexical is model and bonus > 0.0 and names_people(topic.title):
        terms = [*terms, people_term(lexical.engine, bonus)]
    return [
        Explanation(
            page_id,
            term_contributions(lexical.engine, terms, page_id),
            feature_contributions(model, topic, found, page_id),
        )
        for page_id in page_ids
    ]


def lexical_part(model: RelevanceModel) -> LexicalModel:
    """The search by words that every model starts from."""
    if isinstance(model, LexicalModel):
        return model
    if isinstance(model, HybridModel):
        return model.extractor.lexical
    if isinstance(model, LearnedModel):
        return model.extractor.lexical
    raise TypeError(f"no explanation of {type(model).__name__}")


def term_contributions(engine: Engine, terms: Sequence[WeightedTerm], page_id: int) -> Parts:
    """What each term adds to the score of a page; they add up to the score."""
    distinct = merge_terms(terms)
    found = engine.search_many([Query([term], 1, Restriction(page_ids=[page_id])) for term in distinct])
    added = [(str(term), float(hits.scores[0])) for term, hits in zip(distinct, found, strict=True) if len(hits.scores)]
    return tuple(sorted(added, key=lambda item: (-item[1], item[0])))


def feature_contributions(model: RelevanceModel, topic: Topic, found: ScoredPages, page_id: int) -> Parts:
    """What each feature adds to the score of a page, among the pages it was ranked with; they add up to the score."""
    at = np.flatnonzero(found.page_ids == page_id)
    row = {name: values[at] for name, values in found.features.items()}
    if not len(at) or not row or any(np.isnan(values).any() for values in row.values()):
        return ()
    parts = _feature_parts(model, topic, row)
    return tuple(sorted(parts.items(), key=lambda item: (-abs(item[1]), item[0])))


def _feature_parts(model: RelevanceModel, topic: Topic, row: dict[str, np.ndarray]) -> dict[str, float]:
    """Each feature times what it counts; of a learned model, the mean over the lines that may speak of the topic."""
    if isinstance(model, LearnedModel):
        parts = model.state.cross_fit.contributions(topic.id, row)
        return {name: float(values[0]) for name, values in parts.items()}
    assert isinstance(model, HybridModel)
    return {name: weight * float(row[name][0]) for name, weight in model.weights.items() if name in row}


@dataclass(frozen=True)
class SearchResults:
    """The articles found, best first."""

    words: str
    rows: tuple[dict[str, Any], ...]
    """rank, page_id, score, title; with a learned model also the probability of relevance."""
    reasons: tuple[Explanation, ...] = ()
    """Beside the rows: what brought each article; empty unless it was asked for."""

    @property
    def page_ids(self) -> list[int] | list[str]:
        return [row["page_id"] for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def to_pandas(self) -> pd.DataFrame:
        """A data frame: a row per article."""
        import pandas as pd

        return pd.DataFrame(list(self.rows))

    def __repr__(self) -> str:
        titles = "; ".join(row["title"] for row in self.rows[:3])
        return f"<SearchResults for {self.words!r}: {len(self)} articles: {titles}{'; …' if len(self) > 3 else ''}>"


def search(
    collection: Collection | FilePath,
    words: str | Sequence[str],
    k: int = 20,
    *,
    groups: Mapping[str, str] | None = None,
    model: str | ModelChoice = "untrained",
    why: bool = False,
) -> SearchResults:
    """The k articles of a collection that the words describe best.

    `groups` restricts the search to one group of a dimension, such as `{"geography": "Africa"}`. `model` is
    `untrained`, `dph`, `bm25`, `hybrid`, `learned` or a model file. `why` adds the words and features that brought each
    article.
    """
    if k < 1:
        raise EvenrankError(f"k is {k} (at least 1)")
    opened = as_collection(collection)
    engine = open_index(opened)
    allowed = group_restriction(opened, groups or {})
    choice = choose_model(opened, model) if isinstance(model, str) else model
    topic = Topic(0, words if isinstance(words, str) else " ".join(words))
    per_group = CandidateSettings(n_per_group=max(k, CandidateSettings().n_per_group))
    used = choice.open(LexicalModel(engine, SearchSettings(candidates=per_group)), index_folder(opened))
    shown, found = search_pages(used, topic, k, allowed)
    reasons = explain_found(used, topic, found, shown.page_ids.tolist()) if why else []
    rows = _rows(opened, engine, shown, has_probabilities=choice.kind == "learned")
    return SearchResults(topic.title, tuple(rows), tuple(reasons))


def search_pages(
    model: RelevanceModel, topic: Topic, n_pages: int, allowed: Restriction
) -> tuple[ScoredPages, ScoredPages]:
    """The best pages that the restriction allows, and the pages that they were chosen from.

    By words alone, the index itself restricts. Other models look at a fixed number of pages and some of each group,
    and the rest is left out of what they found.
    """
    if isinstance(model, LexicalModel):
        hits = model.search(topic, n_pages, allowed)
        pages = ScoredPages(hits.page_ids, hits.scores, probability_by_rank(hits.scores))
        return pages, pages
    found = model.score(topic, max(n_pages, CandidateSettings().n_pages))
    return allowed_pages(model.engine, found, allowed).first(n_pages), found


def allowed_pages(engine: Engine, found: ScoredPages, allowed: Restriction) -> ScoredPages:
    """Those of the pages that are in the groups of a restriction."""
    is_allowed = np.ones(len(found), bool)
    for name, mask in allowed.groups.items():
        values = engine.values(name, found.page_ids.tolist())
        is_allowed &= (values.astype(np.int64) & mask) > 0
    return found.take(np.flatnonzero(is_allowed))


def group_restriction(collection: Collection, groups: Mapping[str, str | None]) -> Restriction:
    """The restriction to groups by their names, as users write them; a dimension whose group is None does not count."""
    masks = {}
    for name, group in groups.items():
        if group is None:
            continue
        if name not in collection.masks:
            raise UnknownNameError("dimension of this collection", name, collection.masks)
        dimension = collection.known_dimensions[name]
        try:
            masks[name] = dimension.mask_of(group)
        except KeyError:
            raise UnknownNameError(f"group of {name}", group, dimension.groups) from None
    return Restriction(groups=masks)


def _rows(
    collection: Collection, engine: Engine, shown: ScoredPages, *, has_probabilities: bool
) -> list[dict[str, Any]]:
    """One row for each page."""
    titles = {page.page_id: page.title for page in engine.stored(shown.page_ids.tolist()) if page is not None}
    columns = (shown.page_ids.tolist(), shown.scores.tolist(), shown.probabilities.tolist())
    rows = []
    for rank, (page, score, probability) in enumerate(zip(*columns, strict=True), 1):
        row: dict[str, Any] = {"rank": rank, "page_id": collection.shown_id(page), "score": round(score, 4)}
        if has_probabilities:
            row["probability"] = round(probability, 4)
        rows.append({**row, "title": titles.get(page, "")})
    return rows
