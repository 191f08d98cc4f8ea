"""How long it takes to make all runs of the track's tables again, by step, and to resume when all of them are there.

    python benchmarks/reproduce.py [--pages 200000] [--topics 106] [--workers 2]

Processor time is that of this process; with `--workers 1` that is all of it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import evenrank
from evenrank.experiments.experiment import world_folder
from evenrank.experiments.reproduce import track_shape


def timed(step: str, work: Callable[[], object]) -> None:
    wall, processor = time.perf_counter(), time.process_time()
    work()
    print(f"{step:<28}{time.perf_counter() - wall:>10.1f}{time.process_time() - processor:>12.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--topics", type=int, default=106)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def reproduce() -> object:
            return evenrank.reproduce(2021, folder, n_pages=asked.pages, n_topics=asked.topics, workers=asked.workers)

        print(f"{asked.pages:,} pages, {asked.topics} topics, {asked.workers} workers")
        print(f"{'step':<28}{'wall s':>10}{'processor s':>12}")
        timed(
            "collection and index", lambda: world_folder(track_shape(asked.pages, asked.topics), folder, asked.workers)
        )
        timed("24 runs, scores, report", reproduce)
        timed("the same, resumed", reproduce)


if __name__ == "__main__":
    main()
