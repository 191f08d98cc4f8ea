"""`evenrank.score` on a million items, as 1,000 queries of 1,000 and as 100,000 of ten, against another checkout.

    python benchmarks/score_scale.py [--other FOLDER] [--repeats N]

Measures processor time of `score` on data frames (nDCG, P, AWRF and Score over six groups), in a process of its own for
each shape and checkout, in turn, and prints the least of the repeats. FOLDER is a checkout of an earlier version, for
example `git worktree add /tmp/earlier COMMIT`; without it only this one is measured. With `--all` every measure is
computed, one by one, on 1,000 queries of ten.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SHAPES = ((1_000, 1_000), (100_000, 10))
N_ITEMS = 50_000
HERE = Path(__file__).resolve().parents[1]


def make_data(n_queries: int, n_ranks: int) -> tuple[Any, Any, Any]:
    """Rankings, groups and grades of synthetic items."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    step = N_ITEMS // n_ranks
    items = (rng.integers(0, step, (n_queries, n_ranks)) * n_ranks + np.arange(n_ranks)).reshape(-1)
    query = np.repeat(np.arange(n_queries), n_ranks)
    ranks = np.tile(np.arange(1, n_ranks + 1), n_queries)
    groups = np.array(list("abcdef"))[rng.integers(0, 6, N_ITEMS)]
    is_judged = rng.random(len(query)) < 0.2
    judged = {"query": query[is_judged], "item": items[is_judged], "grade": rng.integers(1, 4, int(is_judged.sum()))}
    rankings = pd.DataFrame({"query": query, "item": items, "rank": ranks})
    return rankings, pd.DataFrame({"item": np.arange(N_ITEMS), "group": groups}), pd.DataFrame(judged)


def measured(n_queries: int, n_ranks: int, measures: str | None = None) -> float:
    """Processor seconds of one call."""
    import evenrank

    rankings, groups, relevance = make_data(n_queries, n_ranks)
    evenrank.score(rankings.head(2_000), groups, relevance)  # imports what it needs
    start = time.process_time()
    evenrank.score(rankings, groups, relevance, measures=measures)
    return time.process_time() - start


def in_process(checkout: Path, n_queries: int, n_ranks: int) -> float:
    command = [sys.executable, __file__, "--shape", str(n_queries), str(n_ranks)]
    env = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    return float(json.loads(done.stdout))


def print_table(checkouts: dict[str, Path], n_repeats: int) -> None:
    print(f"{'queries × items':>18}", *(f"{name:>10}" for name in checkouts), "    ratio")
    for shape in SHAPES:
        turns = [{name: in_process(path, *shape) for name, path in checkouts.items()} for _ in range(n_repeats)]
        least = {name: min(turn[name] for turn in turns) for name in checkouts}
        ratio = f"{least['here'] / least['other']:9.2f}" if "other" in least else ""
        print(f"{shape[0]:>9,} × {shape[1]:>6,}", *(f"{seconds:>8.2f} s" for seconds in least.values()), ratio)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--shape", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.shape:
        print(json.dumps(measured(*given.shape)))
        return
    if given.all:
        from evenrank.measures.registry import MEASURES

        for name in MEASURES.builtin:
            print(f"{name:>12} {measured(1_000, 10, name):8.3f} s")
        return
    print_table({"here": HERE} | ({"other": given.other} if given.other else {}), given.repeats)


if __name__ == "__main__":
    main()
