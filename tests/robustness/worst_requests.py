"""Of every route, the request that costs most within the limits: as many words as are allowed, each of them common, and
as many titles as a request may hold. The benchmark measures them; the flood sends the worst."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from evenrank.app.articles.source import MAX_ENTRIES
from evenrank.app.articles.user_articles import MAX_ARTICLES
from evenrank.app.request.access import LEAST_ROLES, PUBLIC_ROUTES, SECRET_ROUTES
from evenrank.app.request.budget import MAX_CELLS, MAX_GROUPS, MAX_KEYWORDS, MAX_WORDS, most_cells
from evenrank.app.request.question_fields import MAX_FAIRNESS, MAX_LENGTH, OFFERED
from evenrank.core.alignment import align
from evenrank.core.groups import GroupSpace
from evenrank.retrieval.query.topic_query import split_words
from evenrank.trec.collection import Collection

UNKNOWN = "x" * 22
KEPT_OUT = frozenset({"/sign-in/return", "/sign-out", "/language"})
"""Routes that look nothing up: they set or remove a cookie."""


@dataclass(frozen=True)
class WorstRequest:
    """One request: what is sent, and to where."""

    method: str
    route: str
    path: str
    fields: dict[str, str] = field(default_factory=dict)
    """Of a form, or of the address."""
    record: dict[str, Any] | None = None
    """Of a JSON request."""

    def sent(self) -> dict[str, Any]:
        """The arguments of a client's `request`."""
        if self.record is not None:
            return {"json": self.record}
        return {"data": self.fields} if self.method == "POST" else {"params": self.fields}


def all_routes() -> list[tuple[str, str]]:
    """Method and path of every route of the app."""
    tables = (PUBLIC_ROUTES, LEAST_ROLES, SECRET_ROUTES)
    return [(method, path) for table in tables for path in table for method in sorted(table[path])]


def common_words(collection: Collection, n_words: int) -> list[str]:
    """The words that most titles have, and then those of the topics: searches for them find most pages."""
    sample = collection.page_ids[:: max(1, len(collection) // 20_000)].tolist()
    language = collection.manifest.language
    counts = Counter(word for title in collection.titles_of(sample) for word in split_words(title, language))
    of_topics = (word for topic in collection.topics for text in topic.keywords for word in split_words(text, language))
    return list(dict.fromkeys([*of_topics, *(word for word, _ in counts.most_common())]))[:n_words]


def worst_question(collection: Collection, number: int = 0) -> dict[str, str]:
    """The most expensive question, no two of them the same: no answer can be one that is remembered."""
    words = common_words(collection, MAX_WORDS - 3)
    per_keyword = -(-len(words) // (MAX_KEYWORDS - 1))
    keywords = [" ".join(words[at : at + per_keyword]) for at in range(0, len(words), per_keyword)]
    boxes = {f"dimension-{name}": "1" for name in widest_goal(collection)}
    question = {"title": f"Worst {number}", "keywords": ", ".join(keywords), "length": str(MAX_LENGTH)}
    return {**question, **boxes, "fairness": f"{MAX_FAIRNESS:g}", OFFERED: "1"}


def widest_goal(collection: Collection) -> list[str]:
    """The dimensions that a question about as many articles as are allowed may choose, of which most groups of most
    kinds of articles are counted."""
    known = collection.known_dimensions
    masks = {name: column[:MAX_ARTICLES] for name, column in collection.masks.items() if name in known}
    cells = {(): 0}
    for n_chosen in range(1, len(masks) + 1):
        for some in combinations(masks, n_chosen):
            n_groups = math.prod(len(known[name].groups) for name in some)
            if n_groups <= MAX_GROUPS:
                space = GroupSpace.of(some, known)
                cells[some] = most_cells(align([masks[name] for name in some], space, [True] * len(some)), space)
    return list(max((some for some in cells if cells[some] <= MAX_CELLS), key=cells.__getitem__))


def many_titles(collection: Collection) -> str:
    """As many titles as a question may have, one a line: as many articles as it may choose from, and others that are
    looked for in vain."""
    titles = collection.titles_of(collection.page_ids[:MAX_ARTICLES].tolist())
    return "\n".join([*titles, *(f"No article {n}" for n in range(MAX_ENTRIES - len(titles)))])


def worst_requests(
    collection: Collection, links: dict[str, str], secrets: dict[str, str], topic: int, page: int
) -> list[WorstRequest]:
    """One for each route. `links` are tokens by area, `secrets` those of assessor, organiser and administrator."""
    found = []
    titles = many_titles(collection)
    for number, (method, route) in enumerate(all_routes()):
        if route in KEPT_OUT:
            continue
        area = "lists" if "lists" in route else "searches"
        holder = SECRET_ROUTES.get(route, {}).get(method, "")
        path = route.replace("{token:token}", links[area]).replace("{area:area}", area)
        path = path.replace("{secret:secret}", secrets.get(holder, UNKNOWN)).replace("{suffix}", "table.wiki")
        path = path.replace("{number:number}", "1").replace("{name}", "qrels")
        path = path.replace("{topic:number}", str(topic)).replace("{page:number}", str(page))
        question = worst_question(collection, number)
        if route.startswith("/api/") and method == "POST":
            found.append(WorstRequest(method, route, path, record=_record(route, question, titles, page)))
            continue
        if method == "POST":
            question |= {"text-1": titles, "role-1": "in", "kind-1": "titles", "page_id": str(page), "mark": "done"}
            question |= {"draw": "1", "action": "rename", "name": "x", "answer": "1", "nonce": "x" * 12, "seconds": "1"}
        found.append(WorstRequest(method, route, f"{path}/style.css" if route == "/static" else path, question))
    return found


def _record(route: str, question: dict[str, str], titles: str, page: int) -> dict[str, Any]:
    if route.endswith("marks"):
        return {"page_id": page, "mark": "done"}
    if route.endswith("draws"):
        return {"editor": "x" * 64}
    source = {"kind": "titles", "role": "in", "text": titles}
    of_list = {"length": int(question["length"]), "fairness": MAX_FAIRNESS} if route == "/api/lists" else {}
    return {
        "title": question["title"],
        "keywords": question["keywords"].split(", "),
        "dimensions": [name.removeprefix("dimension-") for name in question if name.startswith("dimension-")],
        "sources": [source],
        **of_list,
    }
