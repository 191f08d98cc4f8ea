"""Topic records in the official formats: keywords and scope from a theme's words, judgments beside them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.rng import derive
from evenrank.trec.generate import tables
from evenrank.trec.generate.judgments import JudgmentPool
from evenrank.trec.generate.themes import Theme

HOMEPAGE = "https://example.org/wiki/Wikipedia:WikiProject_"
MIN_KEYWORDS, MAX_KEYWORDS = 5, 40


def training_records(
    seed: int, ids: Sequence[int], themes: Sequence[Theme], judgments: Sequence[NDArray[np.int32]]
) -> list[dict[str, Any]]:
    """Records of `trec_topics.json.gz`."""
    return [
        query_record(seed, number, theme)
        | {"homepage": HOMEPAGE + theme.title.replace(" ", "_"), "rel_docs": pages.tolist()}
        for number, theme, pages in zip(ids, themes, judgments, strict=True)
    ]


def qrel_records(ids: Sequence[int], themes: Sequence[Theme], pools: Sequence[JudgmentPool]) -> list[dict[str, Any]]:
    """Records of `eval-topics-with-qrels.json.gz`."""
    return [
        {
            "id": number,
            "title": theme.title,
            "rel_docs": pool.relevant.tolist(),
            "assessed_docs": pool.assessed.tolist(),
            "max_tier": pool.max_tier,
        }
        for number, theme, pool in zip(ids, themes, pools, strict=True)
    ]


def query_record(seed: int, number: int, theme: Theme) -> dict[str, Any]:
    """What a system may see of a topic: id, title, keywords, scope."""
    rng = derive(seed, "query", theme.title)
    return {"id": number, "title": theme.title, "keywords": keywords(theme, rng), "scope": scope(theme, rng)}


def keywords(theme: Theme, rng: np.random.Generator) -> list[str]:
    """Words of the theme, a few general words among them: a query as people write it."""
    n = int(np.clip(rng.lognormal(np.log(12), 0.6), MIN_KEYWORDS, MAX_KEYWORDS))
    n_general = int(rng.integers(0, 2 + n // 6))
    known = [*theme.things, *theme.fields, *theme.roles, *theme.sites]
    weights = rng.dirichlet(np.full(len(known), 0.7))
    chosen = [known[i] for i in np.argsort(-weights)[: max(1, n - n_general - n // 8)]]
    general = [word for slot in ("effort", "object", "group") for word in tables.toml("words")[slot]]
    common = rng.choice(len(general), n_general, replace=False)
    rare = [term.lower() for term in theme.jargon[: n // 8]]
    words = dict.fromkeys([theme.subject.lower(), *chosen, *rare, *(general[i] for i in common)])
    return list(words)[:MAX_KEYWORDS]


def scope(theme: Theme, rng: np.random.Generator) -> str:
    """What the project says about itself."""
    patterns: list[str] = tables.toml("topics")["scopes"]
    words = {"thing": theme.things, "field": theme.fields, "role": theme.roles, "site": theme.sites}
    numbered = {f"{kind}{i + 1}": word for kind, known in words.items() for i, word in enumerate(known[:3])}
    return patterns[rng.integers(len(patterns))].format(title=theme.title, **numbered)


def json_lines(records: Sequence[dict[str, Any]]) -> bytes:
    """One JSON record a line."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
