"""Utility against unfairness of the stream policies on the sequences of the TREC 2019 Fair Ranking Track.

    python benchmarks/stream_2019.py [--data DIR] [--requests N] [--figure docs/images/stream-2019.svg]

The 635 queries are cut into two halves by a hash. Settings are chosen on the five sequences without the queries of the
second half, and reported on the five sequences without those of the first: of the settings that lose at most 1 % of the
utility of the relevance order, the one with the least unfairness. Relevance is that of the clicks (oracle), or
estimated from it with noise that is fixed for each sequence, query and document (noisy); measures are by the clicks in
both cases. Attention, exposure and target are those of the track: patience 0.5, stopping with 0.7 at a relevant
document, exposure by expected stops, target by relevance. The track's own scorer differs in one point: there a document
without known authors does not keep readers from reading on. One sequence has 25,000 requests; `--requests` takes the
first of each half, 0 all.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np

import evenrank
from evenrank.cli.listing import aligned
from evenrank.core.rng import derive
from evenrank.io.figures import clean_axes, figure_style, look_of, new_figure, save_figure_as

DATA = Path(__file__).resolve().parents[2] / "shared/golden-2019/data"
READING = {"attention": "gerr:0.5,0.7", "exposure": "impact"}
SETTINGS = {
    "relevance": ("relevance",),
    "random": ("random",),
    "fairco": tuple(f"fairco:gain={gain}" for gain in (0.0001, 0.001, 0.01, 0.1, 1.0)),
    "amortised": tuple(f"amortised:min_quality={floor}" for floor in (0.8, 0.9, 0.95, 0.98, 0.99)),
    "optimal": tuple(f"optimal:fairness={weight}" for weight in (0.1, 1, 10, 100, 1000)),
}
MAX_LOSS = 0.01
"""Utility that a chosen setting may lose on the queries that settings are chosen on."""
N_SEQUENCES = 5
LOGIT, NOISE = 1.0, 2.0
"""Noisy relevance: the logistic function of ± LOGIT plus normal noise with this standard deviation."""


@dataclass(frozen=True)
class Item:
    """A candidate of a query."""

    item: str
    clicked: float
    noisy: tuple[float, ...]
    """An estimate for each sequence."""
    groups: dict[str, float]


@dataclass(frozen=True)
class Outcome:
    """A policy on one sequence."""

    policy: str
    utility: float
    unfairness: float


def read_queries(folder: Path) -> dict[str, list[Item]]:
    """Query id → its candidates."""
    with gzip.open(folder / "article-level.csv.gz", "rt") as file:
        groups = {row[0]: {g: float(n) for g, n in Counter(row[1:]).items()} for row in csv.reader(file)}
    queries = {}
    with gzip.open(folder / "evaluation-sample-with-relevance.json.gz", "rt") as file:
        for record in map(json.loads, file):
            query = str(record["qid"])
            queries[query] = [
                Item(one["doc_id"], one["relevance"], noisy(query, **one), groups.get(one["doc_id"], {}))
                for one in record["documents"]
            ]
    return queries


def noisy(query: str, doc_id: str, relevance: float) -> tuple[float, ...]:
    """An estimate of relevance between 0 and 1 for each sequence; noise depends on sequence, query and document."""
    logits = LOGIT * (2 * relevance - 1) + derive(2019, query, doc_id).normal(0.0, NOISE, N_SEQUENCES)
    return tuple((1.0 / (1.0 + np.exp(-logits))).tolist())


def is_first_half(query: str) -> bool:
    """Whether settings are chosen on a query."""
    return hashlib.sha256(query.encode()).digest()[0] % 2 == 0


def read_sequences(folder: Path) -> list[list[str]]:
    """The queries of each of the five sequences."""
    found: dict[str, list[str]] = {}
    with gzip.open(folder / "sequences-5x25000.csv.gz", "rt") as file:
        for number, query in csv.reader(file):
            found.setdefault(number.partition(".")[0], []).append(query)
    return list(found.values())


def run(policy: str, number: int, sequence: Sequence[str], queries: dict[str, list[Item]], relevance: str) -> Outcome:
    """Rank a sequence and measure it by the clicks."""
    stream = evenrank.Stream(policy, **READING)
    rows = {
        query: [(one.item, one.clicked if relevance == "oracle" else one.noisy[number], one.groups) for one in items]
        for query, items in queries.items()
    }
    rankings = [stream.rank(query, rows[query]) for query in sequence]
    grades = [[one.clicked for one in queries[query]] for query in sequence]
    measured = evenrank.measure_stream(rankings, grades, blocks=1, **READING)
    return Outcome(policy, measured.values["utility"], measured.values["unfairness"])


def over_sequences(
    policy: str, sequences: Sequence[Sequence[str]], queries: dict[str, list[Item]], relevance: str
) -> list[Outcome]:
    return [run(policy, number, sequence, queries, relevance) for number, sequence in enumerate(sequences)]


def choose(outcomes: dict[str, list[Outcome]], settings: Sequence[str]) -> str:
    """The setting with least unfairness among those that keep utility; the most useful where none does."""
    least = (1.0 - MAX_LOSS) * mean(one.utility for one in outcomes["relevance"])
    kept = [one for one in settings if mean(o.utility for o in outcomes[one]) >= least]
    if not kept:
        return max(settings, key=lambda one: mean(o.utility for o in outcomes[one]))
    return min(kept, key=lambda one: mean(o.unfairness for o in outcomes[one]))


def rows_of(chosen: dict[str, str], outcomes: dict[str, list[Outcome]], relevance: str) -> list[list[str]]:
    """A row per setting: means over the sequences, and on how many of them it is below the chosen FairCo."""
    fairco = outcomes[chosen["fairco"]]
    rows = []
    for setting, found in outcomes.items():
        lower = sum(one.unfairness < other.unfairness for one, other in zip(found, fairco, strict=True))
        spread = [one.unfairness for one in found]
        rows.append(
            [
                relevance,
                f"* {setting}" if setting in chosen.values() else f"  {setting}",
                f"{mean(one.utility for one in found):.4f}",
                f"{mean(spread):.5f}",
                f"{min(spread):.5f}–{max(spread):.5f}",
                "–" if found is fairco else f"{lower} of {len(found)}",
            ]
        )
    return rows


def draw(panels: dict[str, tuple[dict[str, str], dict[str, list[Outcome]]]], path: Path) -> None:
    """A panel for oracle and one for noisy relevance: a line per policy over its settings, the chosen one filled."""
    with figure_style():
        figure, axes = new_figure(9.0, 4.2, 1, len(panels))
        for panel, (relevance, (chosen, outcomes)) in zip(axes, panels.items(), strict=True):
            for number, (policy, settings) in enumerate(SETTINGS.items()):
                colour, marker = look_of(number)
                x = [mean(o.unfairness for o in outcomes[one]) for one in settings]
                y = [mean(o.utility for o in outcomes[one]) for one in settings]
                panel.plot(x, y, "-", color=colour, marker=marker, mfc="white", ms=5, lw=1)
                at = settings.index(chosen[policy])
                panel.plot(x[at : at + 1], y[at : at + 1], marker=marker, color=colour, ms=8, ls="", label=policy)
            panel.set(xscale="log", xlabel="unfairness (lower is better ←)", ylabel="utility (higher is better →)")
            panel.set_title(f"{relevance} relevance")
            clean_axes(panel)
        axes[0].legend(frameon=False, fontsize=8)
        save_figure_as(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--requests", type=int, default=2500)
    parser.add_argument("--figure", type=Path, action="append", default=[])
    options = parser.parse_args()
    if not options.data.exists():
        sys.exit("skipped: ../shared/golden-2019 is not there")
    started = time.process_time()
    queries = read_queries(options.data)
    sequences = read_sequences(options.data)
    n_requests = options.requests or None
    first = [[q for q in sequence if is_first_half(q)][:n_requests] for sequence in sequences]
    second = [[q for q in sequence if not is_first_half(q)][:n_requests] for sequence in sequences]
    panels, rows = {}, []
    for relevance in ("oracle", "noisy"):
        tried = {p: over_sequences(p, first, queries, relevance) for many in SETTINGS.values() for p in many}
        chosen = {policy: choose(tried, settings) for policy, settings in SETTINGS.items()}
        found = {p: over_sequences(p, second, queries, relevance) for many in SETTINGS.values() for p in many}
        panels[relevance] = chosen, found
        rows += rows_of(chosen, found, relevance)
    heading = ["relevance", "  policy (* chosen)", "utility", "unfairness", "least–most of 5", "below fairco *"]
    print(aligned([heading, *rows]))
    n_first = sum(map(is_first_half, queries))
    print(f"{n_first} queries to choose settings, {len(queries) - n_first} to report; {len(second[0]):,} requests each")
    print(f"{time.process_time() - started:.0f} s of processor time")
    for path in options.figure:
        draw(panels, path)


if __name__ == "__main__":
    main()
