"""What bounds and `trust` cost: bounds of runs of 1000 pages by topic, and the trust in 24 runs on 49 topics.

    python benchmarks/limits.py [--pages 20000]

Prints a table. The peer of bounds is scoring alone, that of `trust` the resampling of topics alone (what a paired
bootstrap of any tool does); ratios are of processor times in the same run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import evenrank
from evenrank.scoring.oracle import oracle_run
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings

N_RUNS = 24
N_TOPICS = 49
N_BOUNDED = 10
"""Topics that bounds are timed on."""


def seconds(work: Callable[[], object]) -> float:
    """Processor time of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000)
    n_pages = parser.parse_args().pages
    with tempfile.TemporaryDirectory() as folder:
        settings = GenerateSettings(n_pages=n_pages, n_train_topics=2, n_eval_topics=N_TOPICS, seed=2)
        collection = generate_collection(Path(folder) / "c", settings)
        runs = [oracle_run(collection, 1, 0.5 + 0.018 * n, seed=n, name=f"r{n:02}").run for n in range(N_RUNS)]
        rows = []
        few = collection.with_topics([topic for topic in collection.topics if topic.split == "eval"][:N_BOUNDED])
        scoring = seconds(lambda: evenrank.evaluate(few, runs[0]))
        for scope in ("none", "ranked"):
            taken = seconds(lambda scope=scope: evenrank.evaluate(few, runs[0], bounds=scope))
            rows.append((f"bounds {scope}, s a topic", taken / N_BOUNDED, taken / scoring))
        results = evenrank.evaluate(collection, runs)
        topics = seconds(lambda: evenrank.trust(results))
        effects = seconds(lambda: evenrank.order_effects(collection, runs))
        rows.append((f"trust, {N_RUNS} runs, {N_TOPICS} topics, s", topics + effects, (topics + effects) / topics))
    print(f"{'what':44} {'seconds':>9} {'× peer':>8}")
    for name, taken, ratio in rows:
        print(f"{name:44} {taken:9.3f} {ratio:8.1f}")


if __name__ == "__main__":
    main()
