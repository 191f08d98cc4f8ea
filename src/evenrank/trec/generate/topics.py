"""Topics in the official formats: queries from a theme's words, and judgments from the hidden truth.

Training topics list nearly all their pages, evaluation topics what a pool of systems came across.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.rng import derive
from evenrank.errors import EvenrankError
from evenrank.trec.generate import tables
from evenrank.trec.generate.articles import WIKI
from evenrank.trec.generate.lexicon import Pattern
from evenrank.trec.generate.plan import Theme
from evenrank.trec.generate.prose import constant, make_sentence
from evenrank.trec.generate.settings import GenerateSettings

N_SYSTEMS = 13
"""Simulated systems that fill a pool; as many submitted to Task 1."""
HOMEPAGE = WIKI + "Wikipedia:WikiProject_"
MIN_KEYWORDS, MAX_KEYWORDS = 5, 40
TIERS = (1, 2, 3)
TIER_SHARES = (0.25, 0.5, 0.25)
"""How many topics were assessed down to each tier."""
TIER_DEPTHS = (0.5, 0.75, 0.88)
"""Part of the relevant pages that each tier finds, as long as the pool is not too large to assess."""
MEDIAN_FOUND, FOUND_SPREAD = 330, 0.45
"""Relevant pages that assessors find at most: median and log-normal spread over topics."""


@dataclass(frozen=True, slots=True, eq=False)
class TopicPages:
    """Pages that belong to a topic or mention it."""

    page_id: NDArray[np.int32]
    is_relevant: NDArray[np.bool_]
    visibility: NDArray[np.float32]
    """How easily a system finds the page: the strength of its text, and its length."""

    @property
    def n_relevant(self) -> int:
        return int(self.is_relevant.sum())


@dataclass(frozen=True, slots=True, eq=False)
class JudgmentPool:
    """What assessors saw of one topic."""

    assessed: NDArray[np.int32]
    relevant: NDArray[np.int32]
    max_tier: int


def training_judgments(settings: GenerateSettings, topics: Sequence[TopicPages]) -> list[NDArray[np.int32]]:
    """Page ids that each training topic lists, ascending; pages that hardly show the topic are missed more often."""
    truth = np.array([topic.n_relevant for topic in topics], np.int64)
    counts = np.maximum(np.round(settings.tagged_share * truth), 1).astype(np.int64)
    if settings.train_total is not None:
        counts = apportion(settings.train_total, truth.astype(float), truth, "training")
    return [
        _tagged(topic, int(count), derive(settings.seed, "tagged", number))
        for number, (topic, count) in enumerate(zip(topics, counts, strict=True))
    ]


def _tagged(topic: TopicPages, n: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """`n` relevant pages, drawn without replacement with weights that grow with the visibility."""
    pages = topic.page_id[topic.is_relevant]
    keys = rng.exponential(size=len(pages)) / (0.3 + topic.visibility[topic.is_relevant])
    return np.sort(pages[np.argsort(keys, kind="stable")[:n]])


def evaluation_pools(settings: GenerateSettings, topics: Sequence[TopicPages]) -> list[JudgmentPool]:
    """The pool of each evaluation topic."""
    rng = derive(settings.seed, "pools")
    tiers = np.array(TIERS)[_tier_numbers(len(topics), rng)]
    truth = np.array([topic.n_relevant for topic in topics], np.int64)
    wanted = np.minimum(
        truth * np.array(TIER_DEPTHS)[tiers - 1], rng.lognormal(np.log(MEDIAN_FOUND), FOUND_SPREAD, len(topics))
    )
    counts = np.maximum(np.round(wanted), 1).astype(np.int64)
    if settings.eval_total is not None:
        counts = apportion(settings.eval_total, np.maximum(wanted, 1e-9), truth, "evaluation")
    strays = np.concatenate([topic.page_id for topic in topics]) if topics else np.empty(0, np.int32)
    return [
        _pool(topic, int(count), int(tier), strays, derive(settings.seed, "pool", number))
        for number, (topic, count, tier) in enumerate(zip(topics, counts, tiers, strict=True))
    ]


def _tier_numbers(n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A tier for each topic, in shares that hold for any number of topics, in random order."""
    middles = (np.arange(n) + 0.5) / max(n, 1)
    return rng.permutation(np.cumsum(TIER_SHARES).searchsorted(middles, side="right").clip(max=2))


def _pool(
    topic: TopicPages, n_relevant: int, tier: int, strays: NDArray[np.int32], rng: np.random.Generator
) -> JudgmentPool:
    """Pages that the simulated systems rank high, down to where `n_relevant` relevant ones are found."""
    candidates = _with_strays(topic, strays, rng)
    order = np.argsort(_best_ranks(candidates, rng), kind="stable")
    found = np.cumsum(candidates.is_relevant[order])
    depth = int(found.searchsorted(n_relevant)) + 1 if n_relevant else min(20, len(order))
    seen = order[:depth]
    relevant = seen[candidates.is_relevant[seen]]
    return JudgmentPool(np.sort(candidates.page_id[seen]), np.sort(candidates.page_id[relevant]), tier)


def _with_strays(topic: TopicPages, strays: NDArray[np.int32], rng: np.random.Generator) -> TopicPages:
    """The topic's pages and a tenth as many that have nothing to do with it."""
    drawn = np.unique(rng.choice(strays, len(topic.page_id) // 10)) if len(strays) else strays
    extra = np.setdiff1d(drawn, topic.page_id)
    return TopicPages(
        np.concatenate([topic.page_id, extra]),
        np.concatenate([topic.is_relevant, np.zeros(len(extra), bool)]),
        np.concatenate([topic.visibility, np.full(len(extra), 0.01)]),
    )


def _best_ranks(candidates: TopicPages, rng: np.random.Generator) -> NDArray[np.float64]:
    """The best rank that a page has in any system; ties go to the better mean rank."""
    n = len(candidates.page_id)
    noise = rng.uniform(0.2, 0.9, (N_SYSTEMS, 1)) * rng.standard_normal((N_SYSTEMS, n))
    skill = rng.uniform(0, 1.0, (N_SYSTEMS, 1)) * candidates.is_relevant
    scores = np.log(candidates.visibility + 0.01) + skill + noise
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable")
    best: NDArray[np.float64] = ranks.min(axis=0) + ranks.mean(axis=0) / (n + 1)
    return best


def apportion(total: int, weights: NDArray[np.float64], limits: NDArray[np.int64], what: str) -> NDArray[np.int64]:
    """Whole numbers that add up to `total`, near to the weights and never above the limits."""
    if total > limits.sum():
        raise EvenrankError(
            f"{total:,} {what} judgments were asked for, but the pages and topics give only {limits.sum():,}: "
            "ask for more pages or fewer judgments"
        )
    counts = np.zeros(len(weights), np.int64)
    while (rest := total - int(counts.sum())) > 0:
        open_weights = np.where(counts < limits, weights, 0.0)
        ideal = rest * open_weights / open_weights.sum()
        step = np.minimum(np.floor(ideal).astype(np.int64), limits - counts)
        if not step.any():
            largest = np.argsort(-(ideal % 1), kind="stable")[:rest]
            step[largest] = ideal[largest] > 0
        counts += step
    return counts


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
    voice = {slot: constant(word) for slot, word in {"title": theme.title, **numbered}.items()}
    return make_sentence(Pattern.parse(patterns[rng.integers(len(patterns))]), voice)


def json_lines(records: Sequence[dict[str, Any]]) -> bytes:
    """One JSON record a line."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
