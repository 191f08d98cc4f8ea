"""Red links of a list: subjects that its words find and that have no article here, ranked by the goal of the list."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import numpy as np
import orjson
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.articles.article import article_links
from evenrank.app.articles.candidates import build_settings
from evenrank.app.articles.collection_view import group_labels, shown_dimensions
from evenrank.app.articles.titles import FoundSubject
from evenrank.app.exports.listing import link
from evenrank.app.fairness.balance import Closeness, closeness_of, list_balance
from evenrank.app.fairness.disclosure import disclosure_of
from evenrank.app.lists.listing import find_list
from evenrank.app.lists.work_list import WorkList
from evenrank.app.request.access import saved_page
from evenrank.app.request.capacity import expensive
from evenrank.app.state import AppState, state_of
from evenrank.core.groups import UNKNOWN_MASK, Dimension
from evenrank.core.records import NO_CLASS
from evenrank.core.rng import derive
from evenrank.core.safe_text import cell_text
from evenrank.policies.policy import Request as RankingRequest
from evenrank.policies.relevance import relevance_order
from evenrank.ranking.build import build_candidates
from evenrank.ranking.sources import Found
from evenrank.trec.collection import Collection

MAX_LISTED = 500
"""Subjects that one list shows."""
WORDS, WIKIS = 0.5, 0.3
"""What the share of the keywords that a subject has, and the number of its wikis, add to its worth; a convention."""
COLUMNS = ("rank", "item", "label", "description", "region", "wikis", "matched_words", "articles")
OTHER_NAMES = {"be-x-old": "be-tarask"}
"""Addresses of Wikipedias that differ from their names in Wikidata."""


@dataclass(frozen=True)
class RedLink:
    """One subject of the list."""

    rank: int
    found: FoundSubject
    regions: tuple[str, ...]
    """Its regions in words; empty where nothing is known of its groups."""
    elsewhere: Sequence[tuple[str, str, str]]
    """Language, title and address of each article in another Wikipedia."""


@dataclass(frozen=True)
class RedLinks:
    """The red links of a list."""

    links: tuple[RedLink, ...]
    n_found: int
    """Subjects that were chosen from."""
    closeness: Closeness | None
    """How close their attention is to the goal; None where no groups of subjects are known."""
    plain: Closeness | None
    """The same in the order by words and wikis alone."""


def find_red_links(state: AppState, work_list: WorkList) -> RedLinks:
    """The red links of a list, by the kind of goal that it has. Subjects whose groups nobody knows count as unknown."""
    if state.subjects is None:
        raise HTTPException(404, "This server knows no subjects without an article.")
    question = work_list.question
    subjects = state.subjects.find(question.topic(), state.title_index)
    pages, worth = _as_collection(state.collection, subjects), _worth(subjects)
    order = np.argsort(-worth, kind="stable")
    found = Found(pages.page_ids[order], worth[order], worth[order])
    candidates, target = build_candidates(pages, 0, 1, found, build_settings(state, question, 1, is_own=True))
    if not len(candidates):
        return RedLinks((), 0, None, None)
    length = min(question.length or MAX_LISTED, MAX_LISTED, len(candidates))
    request = RankingRequest(1, 1, length, question.attention_model)
    ranked = question.ranker().rank(candidates, target, request, derive(0, question.title)).positions[0]
    rule = disclosure_of(state, work_list)

    def closeness(positions: NDArray[np.intp]) -> Closeness | None:
        balance = list_balance(pages, candidates.page_ids[positions], target.values, target.space, question)
        return closeness_of(rule.balance(balance)) if balance.unknown_share < 1.0 else None

    rows = candidates.page_ids[ranked] - 1
    return RedLinks(
        tuple(_red_link(rank, subjects[row], pages, row) for rank, row in enumerate(rows.tolist(), 1)),
        len(candidates),
        closeness(ranked),
        None if question.is_plain else closeness(relevance_order(candidates)[:length]),
    )


def _as_collection(collection: Collection, found: Sequence[FoundSubject]) -> Collection:
    """Subjects as pages numbered from 1, with the groups that their items say."""
    n = len(found)
    fields = [entry.subject.fields for entry in found]
    masks = {
        dimension.name: np.array([_mask(dimension, record) for record in fields], dimension.mask_dtype)
        for dimension in collection.dimensions
    }
    return replace(
        collection,
        page_ids=np.arange(1, n + 1, dtype=np.int32),
        quality_class=np.full(n, NO_CLASS, np.uint8),
        quality_score=np.full(n, np.nan, np.float32),
        masks=masks,
        size_bytes=None,
        page_views=None,
        counts={},
        other_topics=(),
    )


def _mask(dimension: Dimension, record: dict[str, Any]) -> int:
    """The groups of a subject; unknown where its item does not say, or says what the dimension does not know."""
    try:
        return dimension.encode(record[dimension.field]) if dimension.field in record else UNKNOWN_MASK
    except ValueError:
        return UNKNOWN_MASK


def _worth(found: Sequence[FoundSubject]) -> NDArray[np.float64]:
    """How much each subject seems to belong, from 0 to 1: by keywords first, then by wikis that have it."""
    most_words = max((len(entry.reasons) for entry in found), default=1)
    most_wikis = max((entry.subject.n_wikis for entry in found), default=1)
    words = np.array([len(entry.reasons) / most_words for entry in found])
    wikis = np.array([math.log1p(entry.subject.n_wikis) for entry in found]) / math.log1p(max(1, most_wikis))
    return np.asarray(1.0 - WORDS - WIKIS + WORDS * words + WIKIS * wikis, np.float64)


def _red_link(rank: int, entry: FoundSubject, pages: Collection, row: int) -> RedLink:
    regions = [
        name
        for dimension in shown_dimensions(pages)
        if dimension.name == "geography" and dimension.field in entry.subject.fields
        for name in group_labels(int(pages.masks[dimension.name][row]), dimension)
    ]
    articles = entry.subject.articles.items()
    elsewhere = [(wikipedia_language(site), title, wiki_address(site, title)) for site, title in articles]
    return RedLink(rank, entry, tuple(regions), elsewhere)


def wikipedia_language(site: str) -> str:
    """The language in the name of a Wikipedia: `zh-yue` of `zh_yuewiki`."""
    name = site.removesuffix("wiki").replace("_", "-")
    return OTHER_NAMES.get(name, name)


def wiki_address(site: str, title: str) -> str:
    """Where a Wikipedia has the article of a title."""
    return f"https://{wikipedia_language(site)}.wikipedia.org/wiki/{quote(title.replace(' ', '_'), safe='/:()!*,;')}"


def as_data(one: RedLink) -> dict[str, Any]:
    """A red link for bots."""
    subject = one.found.subject
    return {
        "rank": one.rank,
        "item": subject.item,
        "label": subject.label,
        "description": subject.description,
        "regions": list(one.regions),
        "wikis": subject.n_wikis,
        "matched_words": list(one.found.reasons),
        "articles": [{"language": code, "title": title, "url": url} for code, title, url in one.elsewhere],
    }


def red_links_wikitext(links: Sequence[RedLink]) -> str:
    """Red links with their items and the articles in other languages, to paste on a project page."""
    lines = []
    for one in links:
        item = one.found.subject.item
        others = [f"[[:{code}:{title}|{code}]]" for code, title, _ in one.elsewhere if not set("[]{}|<>") & set(title)]
        shown = f" – {', '.join(others)}" if others else ""
        lines.append(f"* {link(one.found.subject.label)} ([[d:{item}|{item}]]){shown}")
    return "\n".join(lines)


def red_links_csv(links: Sequence[RedLink]) -> str:
    """Red links as comma-separated values with a header line."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for one in links:
        subject, regions = one.found.subject, "; ".join(one.regions)
        texts = [subject.item, subject.label, subject.description, regions]
        addresses = " ".join(url for _, _, url in one.elsewhere)
        words = "; ".join(one.found.reasons)
        writer.writerow([one.rank, *map(cell_text, texts), subject.n_wikis, cell_text(words), addresses])
    return out.getvalue()


def show_red_links(request: Request) -> Response:
    """The page of a list's red links."""
    state, work_list = state_of(request), find_list(request)
    found = find_red_links(state, work_list)
    return saved_page(
        request,
        work_list,
        "missing.html",
        found=found,
        wikitext=red_links_wikitext(found.links),
        addresses={one.rank: article_links(one.found.subject.label, state.settings)["article"] for one in found.links},
        disclosure=disclosure_of(state, work_list),
    )


def export_red_links(request: Request) -> Response:
    """The red links of a list as a file."""
    state, work_list, suffix = state_of(request), find_list(request), request.path_params["suffix"]
    if suffix not in ("csv", "json", "wiki"):
        raise HTTPException(404)
    links = find_red_links(state, work_list).links
    if suffix == "json":
        record = {"title": work_list.title, "subjects": [as_data(one) for one in links]}
        return Response(orjson.dumps(record, option=orjson.OPT_INDENT_2), media_type="application/json")
    text, kind = (red_links_csv(links), "csv") if suffix == "csv" else (red_links_wikitext(links) + "\n", "plain")
    return Response(text, media_type=f"text/{kind}; charset=utf-8")


def routes() -> list[BaseRoute]:
    path = "/lists/{token:token}/missing"
    return [Route(path, expensive(show_red_links)), Route(f"{path}.{{suffix}}", expensive(export_red_links))]
