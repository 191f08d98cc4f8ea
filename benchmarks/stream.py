"""What a stream costs: time of a request, with and without a log, memory of a million providers, and regret.

    python benchmarks/stream.py [--requests N] [--providers N]

Times are processor times of `Stream.rank` for requests of 100 candidates in 50 groups, beside a bare numpy sort of the
same relevance by the same controller formula, without checks, groups by name, sums or log. The regret table draws
requests independently and compares the objective that `optimal` reaches with a proved upper bound for anybody who knew
all requests in advance.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import evenrank
from evenrank.cli.listing import aligned

N_CANDIDATES, N_GROUPS, N_ITEMS = 100, 50, 5000
LIMIT_MS, LIMIT_GB = 2.0, 1.0


def requests(n_requests: int, seed: int) -> list[dict[str, float]]:
    rng = np.random.default_rng(seed)
    return [
        dict(
            zip(
                (f"i{at}" for at in rng.choice(N_ITEMS, N_CANDIDATES, replace=False)),
                rng.random(N_CANDIDATES).tolist(),
                strict=True,
            )
        )
        for _ in range(n_requests)
    ]


def timed(policy: str, asked: list[dict[str, float]], **options: object) -> tuple[float, float]:
    """Median and 99th percentile of a request, in milliseconds."""
    groups = {f"i{at}": f"g{at % N_GROUPS}" for at in range(N_ITEMS)}
    spent = []
    with evenrank.Stream(policy, groups, **options) as stream:  # type: ignore[arg-type]
        for items in asked:
            start = time.process_time_ns()
            stream.rank("q", items)
            spent.append((time.process_time_ns() - start) / 1e6)
    return float(np.median(spent)), float(np.quantile(spent, 0.99))


def bare_controller(asked: list[dict[str, float]]) -> float:
    """Median milliseconds of the controller's formula alone, on arrays."""
    exposure, merit = np.zeros(N_GROUPS), np.full(N_GROUPS, 1e-9)
    weights = 1.0 / np.log2(np.maximum(np.arange(1, N_CANDIDATES + 1), 2))
    spent = []
    for items in asked:
        relevance = np.array(list(items.values()))
        group = np.array([int(item[1:]) % N_GROUPS for item in items])
        start = time.process_time_ns()
        served = exposure / merit
        order = np.argsort(-(relevance + 0.01 * len(spent) * (served.max() - served)[group]), kind="stable")
        exposure += np.bincount(group[order], weights, N_GROUPS)
        merit += np.bincount(group, relevance, N_GROUPS)
        spent.append((time.process_time_ns() - start) / 1e6)
    return float(np.median(spent))


def time_table(n_requests: int) -> str:
    asked = requests(n_requests, 1)
    peer = bare_controller(asked)
    rows: list[list[object]] = [["bare controller on arrays", "", peer, "", "1.0", ""]]
    with tempfile.TemporaryDirectory() as folder:
        for policy in evenrank.STREAM_POLICIES:
            for name, options in (
                ("memory", {}),
                ("log", {"log": Path(folder) / f"{policy}.log"}),
                ("window", {"window": n_requests / 4}),
            ):
                median, high = timed(policy, asked, **options)
                rows.append([policy, name, median, high, f"{median / peer:.1f}", "yes" if median <= LIMIT_MS else "NO"])
    heading = ["policy", "kept", "median ms", "99 % ms", "× bare", f"≤ {LIMIT_MS:g} ms"]
    return aligned([heading, *([f"{c:.3f}" if isinstance(c, float) else c for c in row] for row in rows)])


MEMORY = """
import resource, sys
import evenrank
n_providers = int(sys.argv[1])
stream = evenrank.Stream("optimal", lambda item: f"provider-{item}")
for start in range(0, n_providers, 1000):
    stream.rank("q", {item: 0.5 for item in range(start, start + 1000)})
assert len(stream.shares()) == n_providers
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
stream.save(sys.argv[2])
evenrank.Stream("optimal", state=sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def memory_table(n_providers: int) -> str:
    """Peak memory of a process with that many providers; and with the state saved and loaded beside it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, str(n_providers), str(path)], capture_output=True, text=True, check=True
        )
        ranked, loaded = (int(line) / 1024**2 for line in done.stdout.split())
        size = path.stat().st_size / 1e6
    rows = [
        ["providers", "peak GB", "with save and load GB", "state MB", f"≤ {LIMIT_GB:g} GB"],
        [f"{n_providers:,}", f"{ranked:.2f}", f"{loaded:.2f}", f"{size:.0f}", "yes" if ranked <= LIMIT_GB else "NO"],
    ]
    return aligned(rows)


def regret_table(n_requests: int) -> str:
    """Objective reached, and proved distance from the best rankings in hindsight, as the stream gets longer."""
    rng = np.random.default_rng(7)
    queries = [
        [
            (at, float(relevance), f"g{group}")
            for at, (relevance, group) in enumerate(zip(rng.random(10), rng.integers(0, 4, 10), strict=True))
        ]
        for _ in range(40)
    ]
    drawn = rng.integers(0, len(queries), n_requests).tolist()
    rows = [["policy", "requests", "objective", "proved gap", "gap × T / (1 + ln T)"]]
    for policy in ("optimal:fairness=20", "fairco", "relevance"):
        stream = evenrank.Stream(policy, attention="dcg")
        rankings = [stream.rank(str(query), queries[query]) for query in drawn]
        length = n_requests // 64
        while length <= n_requests:
            objective, gap = evenrank.hindsight_gap(rankings[:length], 20.0, attention="dcg")
            scaled = gap * length / (1 + np.log(length))
            rows.append([policy, f"{length:,}", f"{objective:.5f}", f"{gap:.6f}", f"{scaled:.3f}"])
            length *= 4
    return aligned(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--providers", type=int, default=1_000_000)
    options = parser.parse_args()
    print(time_table(options.requests), end="\n\n")
    print(memory_table(options.providers), end="\n\n")
    print(regret_table(6400))


if __name__ == "__main__":
    main()
