"""Scores from a pool of which only a sample was judged: inverse-probability estimates over strata.

Strata are the tiers of a topic's pool. Of a stratum with N pages of which n were drawn and judged, each judged page
stands for N / n pages (Horvitz and Thompson 1952): numbers of relevant pages, gains and the groups of the target are
sums with these weights. nDCG, AWRF and Score are functions of such sums; a jackknife over the judged pages of each
stratum, with the correction for finite strata (Wolter 2007), takes out their bias and says what the sample leaves open.
Pages outside the pool are not relevant, as in every evaluation with a pool.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import LOG, Cascade
from evenrank.core.groups import GroupNames, GroupSpace
from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.records import Run, Topic
from evenrank.core.rng import derive
from evenrank.core.target import group_target
from evenrank.core.types import FilePath, Floats
from evenrank.errors import EvenrankError, listed
from evenrank.measures.awrf import awrf_rows
from evenrank.scoring.evaluate import without_withdrawn
from evenrank.scoring.intervals import Interval, pooled_interval
from evenrank.scoring.ranked_pages import DENSE_ALIGNMENT, RankedPages, align_pages
from evenrank.scoring.tables import Cell, Column, Table, TableResult
from evenrank.scoring.topic_truth import CollectionProblem
from evenrank.trec.assessment.pool import Pool
from evenrank.trec.assessment.pool_file import read_pool
from evenrank.trec.collection import Collection, GivenRun, as_collection, as_run, given_runs

MEASURES = ("nDCG", "P", "AWRF", "Score")
"""What is estimated, for runs of Task 1."""
LEAST = 2
"""Pages that are drawn from a stratum at least: one page says nothing of the spread."""


def sample_pool(pool: Pool, shares: Mapping[int, float], seed: int = 0) -> Pool:
    """A random part of a pool to judge: of each tier that `shares` names (from 1) so large a share, of others all.

    Each topic's tier is drawn on its own, at least two pages of it.
    """
    of_tier: dict[tuple[int, int], list[int]] = {}
    for place, entry in enumerate(pool.pages):
        of_tier.setdefault((entry.topic, entry.tier), []).append(place)
    tiers = sorted({tier for _, tier in of_tier})
    for tier, share in shares.items():
        if tier not in tiers:
            raise EvenrankError(f"the pool has no tier {tier} (choose from {', '.join(map(str, tiers))})")
        if not 0.0 < share <= 1.0:
            raise EvenrankError(f"share of tier {tier} is {share} (give a number above 0 and at most 1)")
    kept: list[int] = []
    cut = dict(pool.cut)
    for (topic, tier), places in of_tier.items():
        n = min(len(places), max(LEAST, math.ceil(shares.get(tier, 1.0) * len(places) - 1e-9)))
        rng = derive(seed, "pool sample", f"{topic}:{tier}")
        kept += places if n == len(places) else rng.choice(places, n, replace=False).tolist()
        if n < len(places):
            cut[topic] = min(tier, cut.get(topic, tier))
    return replace(pool, pages=tuple(pool.pages[place] for place in sorted(kept)), cut=dict(sorted(cut.items())))


@dataclass(frozen=True, slots=True)
class SampledScore:
    """One measure of one run, estimated from a sample of the pool."""

    run: str
    measure: str
    as_judged: float
    """Mean over topics where pages that were not drawn count as not relevant."""
    estimate: float
    """Mean over topics of the inverse-probability estimates."""
    se: float
    """Standard error of the estimate that comes from the sample alone."""
    interval: Interval
    """Student's t over topics; it carries topics and sample, since a topic's estimate varies with its sample."""
    judged: float
    """Judged share of the scored ranks, the mean over topics."""
    in_pool: float
    """Share of the scored ranks that the pool has."""


@dataclass(frozen=True, repr=False)
class SampledScores(TableResult):
    """Scores of runs, estimated from a sample of the pool."""

    scores: tuple[SampledScore, ...]
    topics: dict[str, dict[int, dict[str, float]]]
    """Run → topic → measure → estimate."""
    strata: tuple[tuple[int, int, int], ...]
    """Tier, its pages over all topics, and how many of them were drawn and judged."""
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """A row per run and measure."""
        digits = {"judged": 3, "in_pool": 3}
        heads = {"as_judged": "as judged", "se": "sample SE", "judged": "judged@k", "in_pool": "in pool@k"}
        names = tuple(SampledScore.__dataclass_fields__)
        columns = tuple(Column(name, heads.get(name, name), digits=digits.get(name, 4)) for name in names)
        rows: list[tuple[Cell, ...]] = [tuple(getattr(one, name) for name in names) for one in self.scores]
        return Table(columns, tuple(rows), "Estimates from a sample of the pool")

    def to_json(self) -> dict[str, Any]:
        strata = [dict(zip(("tier", "pages", "judged"), one, strict=True)) for one in self.strata]
        return {
            "schema": "evenrank.sampled/1",
            "scores": [asdict(one) for one in self.scores],
            "topics": {
                run: [{"topic": topic, **values} for topic, values in rows.items()] for run, rows in self.topics.items()
            },
            "strata": strata,
            "notes": list(self.notes),
        }

    def _shown(self) -> tuple[list[Table], list[str]]:
        said = [f"tier {tier}: {judged:,} of {pages:,} pages judged" for tier, pages, judged in self.strata]
        return [self.table()], [*said, *(f"note: {note}" for note in self.notes)]


def sampled_scores(
    collection: Collection | FilePath,
    runs: GivenRun | Iterable[GivenRun],
    pool: Pool | FilePath,
    sample: Pool | FilePath,
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    groups: GroupNames = "intersection",
    **settings: Any,
) -> SampledScores:
    """Scores of Task 1 runs where only `sample`, a random part of `pool` (`sample_pool`), was judged.

    Judgments are those of the collection. Topics with a stratum of which nothing was judged are left out.
    """
    opened = as_collection(collection)
    problem = CollectionProblem.of(opened, protocol, groups, **settings)
    opened, loaded, about = without_withdrawn(opened, [as_run(opened, run) for run in given_runs(runs)])
    whole, drawn = (one if isinstance(one, Pool) else read_pool(one) for one in (pool, sample))
    _check(loaded, problem.protocol, problem.space)
    notes = list(about)
    topics = list(_sampled_topics(opened, whole.with_ids(opened.text_ids), drawn.with_ids(opened.text_ids), notes))
    if not topics:
        raise EvenrankError("\n".join(["no topic can be estimated", *notes]))
    found: list[SampledScore] = []
    by_topic: dict[str, dict[int, dict[str, float]]] = {}
    for run in loaded:
        scored, mine = _scored(problem, run, topics)
        found += scored
        by_topic[run.name] = mine
    strata: dict[int, tuple[int, int]] = {}
    for topic in topics:
        for tier, (n_pages, n_judged) in topic.sizes.items():
            before = strata.get(tier, (0, 0))
            strata[tier] = before[0] + n_pages, before[1] + n_judged
    return SampledScores(
        tuple(found), by_topic, tuple((tier, *sizes) for tier, sizes in sorted(strata.items())), tuple(notes)
    )


def _check(runs: Sequence[Run], protocol: Protocol, space: GroupSpace) -> None:
    faults = [f"{run.name} is a run of Task 2: estimates from a sample are for Task 1" for run in runs if run.task == 2]
    if protocol.target_sum != "one":
        faults.append(f"targets of {protocol.name} do not sum to 1 (use paper-2021 or official-2021)")
    if space.n_groups > DENSE_ALIGNMENT:
        faults.append(f"{space.n_groups:,} groups are too many (name fewer dimensions with --groups)")
    if isinstance(protocol.attention_model, Cascade):
        faults.append(f"attention {protocol.attention_model} depends on relevance, which a sample does not tell")
    if faults:
        raise EvenrankError("\n".join(faults))


@dataclass(frozen=True)
class _Topic:
    """A topic whose pool was judged in part."""

    topic: Topic
    pool: NDArray[np.int32]
    pages: NDArray[np.int32]
    """Judged pages, ascending."""
    weights: Floats
    """How many pages each of them stands for."""
    replicates: Floats
    """The same without each judged page of a stratum that was not judged whole: replicate by page."""
    factors: Floats
    """What the deviation of each replicate counts in the bias, and its square in the variance."""
    sizes: dict[int, tuple[int, int]]
    """Tier → its pages, and how many of them were judged."""


def _sampled_topics(collection: Collection, pool: Pool, sample: Pool, notes: list[str]) -> Iterator[_Topic]:
    """The topics of the pool with the weights of their judged pages; `notes` says what is left out."""
    strata: dict[int, dict[int, int]] = {}
    for entry in pool.pages:
        strata.setdefault(entry.topic, {})[entry.page] = entry.tier
    chosen: dict[int, set[int]] = {}
    for entry in sample.pages:
        if entry.page not in strata.get(entry.topic, {}):
            raise EvenrankError(f"page {entry.page} of topic {entry.topic} is in the sample and not in the pool")
        chosen.setdefault(entry.topic, set()).add(entry.page)
    unsaid, empty, bare, alone, n_open = [], [], [], [], 0
    for topic_id, tier_of in sorted(strata.items()):
        topic = collection.topic_by_id.get(topic_id)
        if topic is None or topic.assessed_docs is None:
            unsaid.append(topic_id)
            continue
        judged = np.array(sorted(chosen.get(topic_id, set()) & set(topic.assessed_docs.tolist())), np.int32)
        n_open += len(chosen.get(topic_id, ())) - len(judged)
        tiers = np.array([tier_of[page] for page in judged.tolist()], np.intp)
        all_tiers = np.array(list(tier_of.values()), np.intp)
        sizes = {tier: (int((all_tiers == tier).sum()), int((tiers == tier).sum())) for tier in np.unique(all_tiers)}
        if any(n_judged == 0 for _, n_judged in sizes.values()):
            empty.append(topic_id)
            continue
        if not np.isin(judged, topic.rel_docs).any():
            bare.append(topic_id)
            continue
        alone += [topic_id] if any(n_judged == 1 < n_pages for n_pages, n_judged in sizes.values()) else []
        n_pages, n_judged = (np.array([sizes[tier][side] for tier in tiers.tolist()], float) for side in (0, 1))
        left_out = np.flatnonzero((n_judged < n_pages) & (n_judged > 1))
        weights = n_pages / n_judged
        replicates = np.repeat(weights[None], len(left_out), axis=0)
        same = tiers[left_out][:, None] == tiers[None]
        replicates[same] = np.broadcast_to((n_pages / np.maximum(n_judged - 1.0, 1.0))[None], same.shape)[same]
        replicates[np.arange(len(left_out)), left_out] = 0.0
        of_left = n_judged[left_out]
        factors = (1.0 - of_left / n_pages[left_out]) * (of_left - 1.0) / of_left
        named = {int(tier): size for tier, size in sizes.items()}
        pages = np.array(sorted(tier_of), np.int32)
        yield _Topic(topic, pages, judged, weights, replicates, factors, named)
    for ids, why in (
        (unsaid, "whose judgments do not say which pages were judged, left out"),
        (empty, "with a tier of which no page was judged, left out"),
        (bare, "without a relevant page in the sample, left out"),
        (alone, "with a tier of which one page was judged, which adds nothing to the SE"),
    ):
        if ids:
            notes.append(f"topics {why}: {listed(ids)}")
    if n_open:
        notes.append(
            f"{n_open:,} pages that were drawn are not judged: estimates hold only if chance decided which (judge all)"
        )


def _scored(
    problem: CollectionProblem, run: Run, topics: Sequence[_Topic]
) -> tuple[list[SampledScore], dict[int, dict[str, float]]]:
    ranked, protocol = problem.ranked(run), problem.protocol
    values, plain, variances, shares, ids = [], [], [], [], []
    for one in topics:
        row = ranked.get(one.topic.id)
        if row is None and protocol.missing_topic == "skipped":
            continue
        found = np.zeros((2 + len(one.replicates), len(MEASURES)))
        if row is not None and len(row.pages):
            weights = np.vstack([one.weights, np.ones(len(one.pages)), one.replicates])
            found = _estimates(problem, row, one, weights)
        ids.append(one.topic.id)
        deviations = found[2:] - found[0]
        values.append(found[0] - one.factors @ deviations)
        plain.append(found[1])
        variances.append(one.factors @ deviations**2)
        heads = np.empty(0, np.int32) if row is None else row.pages
        shares.append([np.isin(heads, pages).sum() / max(1, len(heads)) for pages in (one.pages, one.pool)])
    if not ids:
        raise EvenrankError(f"{run.name}: no topic of the pool has a ranking")
    table, se = np.array(values), np.sqrt(np.sum(variances, axis=0)).round(12) / len(ids)
    in_sample, in_pool = np.mean(shares, axis=0).tolist()
    scores = []
    for place, name in enumerate(MEASURES):
        pooled = pooled_interval(table[None, :, place], protocol.confidence)
        ends = Interval(max(0.0, pooled.low), min(1.0, pooled.high), pooled.se)
        means = float(np.nanmean(np.array(plain)[:, place])), pooled.mean
        scores.append(SampledScore(run.name, name, *means, float(se[place]), ends, in_sample, in_pool))
    rows = (dict(zip(MEASURES, row, strict=True)) for row in table.tolist())
    return scores, dict(zip(ids, rows, strict=True))


def _estimates(problem: CollectionProblem, ranked: RankedPages, one: _Topic, weights: Floats) -> Floats:
    """The measures of a ranking with each row of weights: row by measure."""
    protocol = problem.protocol
    is_relevant = np.isin(one.pages, one.topic.rel_docs)
    relevant, weights = one.pages[is_relevant], weights[:, is_relevant]
    ideal_depth = protocol.ideal_length(1)
    longest = max(ideal_depth, int(ranked.ranks.max()) + 1)
    discounts = LOG.weights(longest, protocol.discount_type).astype(np.float64)
    gain_of = dict(zip(ranked.pages.tolist(), discounts[ranked.ranks].tolist(), strict=True))
    gains = np.array([gain_of.get(page, 0.0) for page in relevant.tolist()])
    sums = np.append(0.0, np.cumsum(discounts[:ideal_depth]))
    ndcg = weights @ gains / np.interp(weights.sum(axis=1), np.arange(ideal_depth + 1), sums).clip(1e-12)
    precision = weights @ (gains > 0.0) / max(1, protocol.task1_depth)
    awrf = _fairness(problem, ranked, relevant, weights)
    return np.stack([ndcg, precision, awrf, ndcg * awrf], axis=1)


def _fairness(problem: CollectionProblem, ranked: RankedPages, relevant: NDArray[np.int32], weights: Floats) -> Floats:
    """AWRF of a ranking whose target is made of relevant pages with each row of weights."""
    collection, protocol, space = problem.collection, problem.protocol, problem.space
    rows = collection.rows_of(relevant)
    aligned = align_pages(collection, rows[rows >= 0], space, protocol)
    assert isinstance(aligned, Alignment)
    masses = weights[:, rows >= 0] @ aligned.dense()
    keeps = protocol.keeps_unknown(1)
    targets = np.array([group_target(mass, space, keep_unknown=keeps, weight=protocol.blend) for mass in masses])
    attention = protocol.attention_model.weights(protocol.task1_depth, protocol.discount_type)
    exposure = ranked.alignment.total(attention[ranked.ranks].astype(np.float64))
    if space.has_unknown and not keeps:
        exposure, targets = exposure[1:], targets[:, 1:]
    if exposure.sum() <= 0.0:
        if protocol.no_exposure != "uniform":
            return np.full(len(weights), 0.0 if protocol.no_exposure == "zero" else math.nan)
        exposure = np.ones_like(exposure)
    return awrf_rows(np.broadcast_to(exposure, targets.shape), targets, protocol.log_base)
