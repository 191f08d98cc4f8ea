"""Do 95 % intervals hold the truth in 95 % of the cases? A simulation with known truth.

Each replicate draws topics with ranked pages, groups and relevance from a population, hides or falsifies part of it,
and asks the product's own code (`draw_kinds`, `draw_relevance`, `pooled_interval`) for the interval of the mean over
the topics of the population for a fixed run. The peer in each row is the interval that carries topics only (BCa
bootstrap of the data as recorded).

    python benchmarks/interval_coverage.py [--replicates 1000] [--draws 30] [--only WORD]
    python benchmarks/interval_coverage.py --bounds [--replicates 1000]
    python benchmarks/interval_coverage.py --collections [--replicates 100]

`--bounds` asks whether bounds without a model (`evaluate --bounds`) hold the truth, topic by topic: groups of generated
collections are hidden, and only the heads of two runs are judged. `--collections` asks `evaluate --uncertainty` itself:
in generated collections half of the regions of the South are hidden and 15 % of the others, and the truth is the score
of the same topics with all regions.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import evenrank
from evenrank.core.groups import UNKNOWN_MASK
from evenrank.core.uncertainty import DimensionModel, ErrorTable, JudgmentModel, MissingGroups
from evenrank.measures.awrf import awrf_rows
from evenrank.scoring.imputation import GroupedItems, JudgedRanks, draw_kinds, draw_relevance
from evenrank.scoring.intervals import bca_interval, pooled_interval
from evenrank.trec.collection import Collection

GROUPS = ("A", "B", "C", "D", "E")
OVERALL = np.array([0.40, 0.25, 0.20, 0.10, 0.05])
WORLD = np.array([0.15, 0.25, 0.35, 0.15, 0.10])
LENGTH, DEPTH, TOP = 60, 20, 8
DISCOUNT = 1.0 / np.log2(np.maximum(np.arange(1, LENGTH + 1), 2))
BANDS = np.where(np.arange(LENGTH) < TOP, 0, np.where(np.arange(LENGTH) < DEPTH, 1, 2))
MEASURES = ("AWRF", "nDCG", "Score")
FAVOURED = np.array([2.0, 1.0, 1.0, 1.0, 0.5])
"""How much likelier pages of each group are at the top of the run: a run that is unfair."""


@dataclass(frozen=True)
class Cell:
    """A world, and the model that the analyst believes."""

    name: str
    n_topics: int = 30
    missing: float = 0.0
    odds: float = 1.0
    believed_odds: float | None = None
    errors: float = 0.0
    believed_errors: float | None = None
    audited: int = 0
    pool: int = LENGTH
    believes_unjudged: bool = True
    is_right: bool = True


def population(n_topics: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Groups and relevance of the ranked pages of topics: topic by rank."""
    shares = rng.dirichlet(8.0 * OVERALL, n_topics)
    top = shares * FAVOURED
    top /= top.sum(axis=1, keepdims=True)
    by_band = np.stack([top, shares, shares], axis=1)[:, BANDS]
    groups = (rng.random((n_topics, LENGTH, 1)) >= np.cumsum(by_band, axis=2)[:, :, :-1]).sum(axis=2)
    intercept = rng.normal(0.3, 0.8, n_topics)
    logits = intercept[:, None] - 0.6 * (np.log2(2.0 + np.arange(LENGTH)) - 3.0)
    return groups, rng.random((n_topics, LENGTH)) < 1.0 / (1.0 + np.exp(-logits))


def scores(groups: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """AWRF, nDCG and Score at 20 of each row; group −1 is unknown and left out. Row by measure."""
    hot = (groups[:, :, None] == np.arange(len(GROUPS))).astype(np.float64)
    exposure = (hot[:, :DEPTH] * DISCOUNT[:DEPTH, None]).sum(axis=1)
    wanted = (hot * relevant[:, :, None]).sum(axis=1)
    total = wanted.sum(axis=1, keepdims=True)
    target = 0.5 * np.where(total > 0, wanted / np.maximum(total, 1.0), WORLD) + 0.5 * WORLD
    exposed = exposure.sum(axis=1) > 0
    fair = np.where(exposed, awrf_rows(np.where(exposed[:, None], exposure, 1.0), target), 0.0)
    n_ideal = np.minimum(relevant.sum(axis=1), DEPTH)
    ideal = np.concatenate([[0.0], np.cumsum(DISCOUNT)])[n_ideal]
    gain = (relevant[:, :DEPTH] * DISCOUNT[:DEPTH]).sum(axis=1)
    ndcg = np.where(ideal > 0, gain / np.where(ideal > 0, ideal, 1.0), 0.0)
    return np.stack([fair, ndcg, fair * ndcg], axis=1)


def hidden(groups: np.ndarray, cell: Cell, rng: np.random.Generator) -> np.ndarray:
    """What is recorded of the groups: some wrong, some missing (−1)."""
    recorded = groups.copy()
    wrong = rng.random(groups.shape) < cell.errors
    recorded[wrong] = (groups[wrong] + rng.integers(1, len(GROUPS), int(wrong.sum()))) % len(GROUPS)
    odds = np.array([1.0, 1.0, cell.odds, cell.odds, cell.odds])[groups]
    base = cell.missing / (1.0 - cell.missing)
    recorded[rng.random(groups.shape) < base * odds / (1.0 + base * odds)] = -1
    return recorded


def believed(cell: Cell, rng: np.random.Generator) -> DimensionModel:
    """The analyst's model of the groups; from an audit of some pages where the cell has one."""
    ratio = cell.odds if cell.believed_odds is None else cell.believed_odds
    missing = MissingGroups(odds=dict.fromkeys(GROUPS[2:], (ratio, ratio)))
    rate = cell.errors if cell.believed_errors is None else cell.believed_errors
    if not cell.audited:
        return DimensionModel(missing, ErrorTable(rate) if rate else None)
    true = rng.choice(len(GROUPS), 200_000, p=OVERALL)
    recorded = hidden(true, replace(cell, missing=0.0), rng)
    table = np.zeros((len(GROUPS), len(GROUPS)))
    for number in range(len(GROUPS)):
        of_group = np.flatnonzero(recorded == number)[: cell.audited // len(GROUPS)]
        table[number] = np.bincount(true[of_group], minlength=len(GROUPS))
    shares = np.bincount(recorded, minlength=len(GROUPS))
    checked = {a: dict(zip(GROUPS, row, strict=True)) for a, row in zip(GROUPS, table.tolist(), strict=True)}
    return DimensionModel(
        missing, ErrorTable(checked=checked, recorded=dict(zip(GROUPS, shares.tolist(), strict=True)))
    )


def draws(cell: Cell, recorded: np.ndarray, relevant: np.ndarray, rng: np.random.Generator, n_draws: int) -> np.ndarray:
    """Scores in draws of what is unknown: draw by topic by measure."""
    n = cell.n_topics
    topic = np.repeat(np.arange(n), LENGTH)
    judged = np.tile(np.arange(LENGTH) < cell.pool, n)
    seen = relevant.reshape(-1) & judged
    of_relevance, of_missing, of_errors = rng.spawn(3)
    drawn_relevance = np.broadcast_to(seen, (n_draws, len(seen)))
    if cell.pool < LENGTH and cell.believes_unjudged:
        ranks = np.tile(np.arange(1.0, LENGTH + 1), n)
        items = JudgedRanks(topic, ranks, seen, judged)
        drawn_relevance, _ = draw_relevance(items, JudgmentModel(), of_relevance, n_draws)
    model = believed(cell, rng)
    sources = ("missing", "errors")
    state = np.tile(BANDS, n) * 2 + seen
    levels = (np.zeros(len(topic), np.intp), topic, topic * 6 + state)
    numbered = tuple(np.unique(level, return_inverse=True)[1].reshape(-1) for level in levels)
    items_of_groups = GroupedItems(recorded.reshape(-1) + 1, np.eye(len(GROUPS), dtype=bool), GROUPS, numbered)
    kinds = draw_kinds(items_of_groups, model, sources, (of_missing, of_errors), n_draws) - 1
    found = scores(kinds.reshape(-1, LENGTH), drawn_relevance.reshape(-1, LENGTH))
    return found.reshape(n_draws, n, len(MEASURES))


def cover(cell: Cell, truth: np.ndarray, n_replicates: int, n_draws: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of replicates whose interval holds the truth, and that of topics only; mean widths of ours."""
    ours, naive, widths = np.zeros(3), np.zeros(3), np.zeros(3)
    for number in range(n_replicates):
        rng = np.random.default_rng([sum(map(ord, cell.name)), number])
        groups, relevant = population(cell.n_topics, rng)
        recorded = hidden(groups, cell, rng)
        of_topics = draws(cell, recorded, relevant, rng, n_draws)
        judged = relevant & (np.arange(LENGTH) < cell.pool)
        plain = scores(recorded, judged)
        for place in range(3):
            interval = pooled_interval(of_topics[:, :, place])
            ours[place] += interval.low <= truth[place] <= interval.high
            widths[place] += interval.high - interval.low
            usual = bca_interval(plain[:, place], rng, 499)
            naive[place] += usual.low <= truth[place] <= usual.high
    return ours / n_replicates, naive / n_replicates, widths / n_replicates


def cells() -> list[Cell]:
    right = [Cell("complete data")]
    right += [Cell(f"missing at random {rate:.0%}", missing=rate) for rate in (0.2, 0.4, 0.6, 0.8)]
    right += [Cell(f"odds {odds:g}, 30% of the others missing", missing=0.3, odds=odds) for odds in (2, 3, 4)]
    right += [Cell(f"errors {rate:.0%}, rate known", errors=rate) for rate in (0.02, 0.05, 0.1, 0.2)]
    right += [Cell(f"errors {rate:.0%}, audit of 250", errors=rate, audited=250) for rate in (0.05, 0.2)]
    right += [Cell(f"pool of depth {depth}", pool=depth) for depth in (5, 10, 20, 50)]
    right += [Cell("odds 2, errors 5%, pool 10", missing=0.3, odds=2, errors=0.05, pool=10)]
    right += [Cell("odds 2, errors 5%, pool 10; 49 topics", 49, missing=0.3, odds=2, errors=0.05, pool=10)]
    few = [replace(one, name=f"{one.name}; 12 topics", n_topics=12) for one in right if one.n_topics == 30]
    few = [
        one
        for one in few
        if any(w in one.name for w in ("complete", "40%", "odds 3", "10%, rate", "depth 10", "odds 2"))
    ]
    wrong = [
        Cell("wrong: odds 3 taken as random", missing=0.3, odds=3, believed_odds=1.0, is_right=False),
        Cell("wrong: random taken as odds 3", missing=0.3, odds=1, believed_odds=3.0, is_right=False),
        Cell("wrong: errors 10% ignored", errors=0.1, believed_errors=0.0, is_right=False),
        Cell("wrong: errors 10% taken as 20%", errors=0.1, believed_errors=0.2, is_right=False),
        Cell("wrong: pool 10, unjudged irrelevant", pool=10, believes_unjudged=False, is_right=False),
    ]
    return right + few + wrong


SOUTH = ("Africa", "Asia", "Latin America and the Caribbean")
REGIONS = (*SOUTH, "Antarctica", "Europe", "Northern America", "Oceania")
BOUNDED = ("nDCG", "P", "AWRF", "Score")


def partly_known(
    whole: Collection, missing: float, odds: float, judged: dict[int, np.ndarray] | None, seed: int
) -> Collection:
    """The collection with regions hidden, those of the South at higher odds; and with judgments of some pages only."""
    dimension = whole.space("geography").dimension("geography")
    masks = whole.masks["geography"].copy()
    south = sum(dimension.mask_of(name) for name in SOUTH)
    chances = np.where(masks & south, odds, 1.0) * missing / (1.0 - missing)
    masks[np.random.default_rng(seed).random(len(masks)) < chances / (1.0 + chances)] = UNKNOWN_MASK
    topics = list(whole.topics)
    if judged is not None:
        topics = [
            replace(topic, rel_docs=np.intersect1d(topic.rel_docs, pages), assessed_docs=pages)
            for topic in topics
            if (pages := judged.get(topic.id)) is not None
        ]
    return replace(whole.with_topics(topics), masks={**whole.masks, "geography": masks})


def bounds_hold(
    missing: float, odds: float, pool: int | None, n_topics: int
) -> tuple[dict[str, int], dict[str, float], int]:
    """By measure, how many topics have the truth inside their bounds, and the mean width; and the number of topics."""
    held, widths, n, seed = dict.fromkeys(BOUNDED, 0), dict.fromkeys(BOUNDED, 0.0), 0, 0
    while n < n_topics:
        with tempfile.TemporaryDirectory() as folder:
            whole = evenrank.generate_collection(Path(folder) / "c", n_pages=600, n_topics=60, seed=seed)
            runs = [evenrank.oracle_run(whole, 1, p, seed, name=name).run for name, p in (("a", 0.8), ("b", 0.4))]
            judged = None
            if pool is not None:
                heads = {
                    t: [run.ranking(i)[:pool] for run in runs for i in np.flatnonzero(run.topic_ids == t)]
                    for t in runs[0].topic_ids.tolist()
                }
                judged = {topic: np.unique(np.concatenate(pages)) for topic, pages in heads.items()}
            known = partly_known(whole, missing, odds, judged, seed)
            options = {"groups": "geography", "depth": DEPTH, "measures": ",".join(BOUNDED)}
            truth = evenrank.evaluate(whole, runs[0], **options)["a"].topics
            bounds = evenrank.evaluate(
                known, runs[0], **options, bounds="none" if pool is None else "collection"
            ).bounds
        for topic, found in bounds["a"].topics.items():
            n += 1
            for name in BOUNDED:
                held[name] += found[name].low - 1e-9 <= truth[topic][name] <= found[name].high + 1e-9
                widths[name] += found[name].high - found[name].low
        seed += 1
    return held, {name: width / n for name, width in widths.items()}, n


def collections_table(n_collections: int) -> None:
    """How often the interval of AWRF on 12 topics holds the truth, by what it carries and assumes."""
    rates = {name: 0.5 if name in SOUTH else 0.15 for name in REGIONS}
    asked = {
        "topics alone": {"uncertainty": "topics"},
        "topics and missing, at random": {"uncertainty": "topics,missing"},
        "topics and missing, rates known": {"uncertainty": "topics,missing", "assume": {"geography": {"rate": rates}}},
    }
    held, widths, off = ({name: [] for name in asked} for _ in range(3))
    options = {"groups": "geography", "depth": DEPTH, "measures": "AWRF"}
    for seed in range(n_collections):
        with tempfile.TemporaryDirectory() as folder:
            whole = evenrank.generate_collection(Path(folder) / "c", n_pages=1500, n_topics=24, seed=seed)
            run = evenrank.oracle_run(whole, 1, 0.7, seed, name="a").run
            known = partly_known(whole, 0.15, 0.85 / 0.15, None, seed)
            truth = evenrank.evaluate(whole, run, **options)["a"].scores["AWRF"]
            for name, sources in asked.items():
                one = evenrank.evaluate(known, run, **options, **sources).uncertainty[1].means[0].interval
                held[name].append(one.low <= truth <= one.high)
                widths[name].append(one.high - one.low)
                off[name].append(one.mean - truth)
    print(f"{'interval carries':34} {'holds the truth':>16} {'mean width':>11} {'mean error':>11}")
    for name in asked:
        n = f"{sum(held[name])} of {n_collections}"
        print(f"{name:34} {n:>16} {np.mean(widths[name]):>11.4f} {np.mean(off[name]):>+11.4f}")


def bounds_table(n_topics: int) -> None:
    print(f"{'cell':46} {'topics':>7}" + "".join(f"{name:>18}" for name in BOUNDED))
    worlds = [(f"missing at random {rate:.0%}", rate, 1.0, None) for rate in (0.2, 0.4, 0.6, 0.8)]
    worlds += [(f"odds {odds}, 30% of the others missing", 0.3, float(odds), None) for odds in (2, 3, 4)]
    worlds += [(f"pool of depth {depth}", 0.0, 1.0, depth) for depth in (5, 10, 20, 50)]
    worlds += [("odds 2, pool of depth 10", 0.3, 2.0, 10)]
    for name, missing, odds, pool in worlds:
        held, widths, n = bounds_hold(missing, odds, pool, n_topics)
        print(f"{name:46} {n:>7}" + "".join(f"{held[m] / n:>9.4f} {widths[m]:>8.3f}" for m in BOUNDED), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--bounds", action="store_true", help="bounds without a model, by topic")
    parser.add_argument("--collections", action="store_true", help="`evaluate --uncertainty` on whole collections")
    options = parser.parse_args()
    if options.collections:
        collections_table(options.replicates)
        return
    if options.bounds:
        bounds_table(options.replicates)
        return
    groups, relevant = population(400_000, np.random.default_rng(1))
    truth = np.concatenate(
        [scores(g, r) for g, r in zip(np.split(groups, 40), np.split(relevant, 40), strict=True)]
    ).mean(axis=0)
    print("truth:", ", ".join(f"{name} {value:.4f}" for name, value in zip(MEASURES, truth, strict=True)))
    print(f"{'cell':46} {'ours: AWRF  nDCG Score':>23} {'topics only':>18} {'width (Score)':>14} {'s':>6}", flush=True)
    kept: list[np.ndarray] = []
    for cell in cells():
        if options.only not in cell.name:
            continue
        start = time.perf_counter()
        ours, naive, widths = cover(cell, truth, options.replicates, options.draws)
        if cell.is_right and cell.n_topics >= 30:
            kept.append(ours)
        columns = "  ".join(f"{value:.3f}" for value in ours), "  ".join(f"{value:.3f}" for value in naive)
        print(
            f"{cell.name:46} {columns[0]:>23} {columns[1]:>20} {widths[2]:>12.4f} {time.perf_counter() - start:>6.1f}",
            flush=True,
        )
    if kept:
        print(f"right model, at least 30 topics: mean {np.mean(kept):.3f}, lowest {np.min(kept):.3f}")


if __name__ == "__main__":
    main()
