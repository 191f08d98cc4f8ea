"""What it buys `optimal` to take unknown regions for a mixture (`rank --assume`), where regions are hidden from it.

Collections are generated with all that is recorded; some regions are hidden from the system, and the run is scored with
the truth. The peer in each world is the same policy without a model, for which unknown is a group of its own.

    python benchmarks/assume.py [--pages 3000] [--topics 24] [--seeds 3] [--first-seed 2] [--task 1]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import evenrank
from evenrank.core.records import CONTINENTS
from evenrank.trec.collection import Collection

SOUTH = ("Africa", "Asia", "Latin America and the Caribbean")
WORLDS = {
    "at random, 30%": (0.3, 0.3),
    "at random, 60%": (0.6, 0.6),
    "not at random, 50% of the South and 15% elsewhere": (0.5, 0.15),
    "not at random, 70% of the South and 20% elsewhere": (0.7, 0.2),
}
"""Rates at which the regions of the South and of others are hidden."""


def generate(folder: Path, n_pages: int, n_topics: int, seed: int, south: float, others: float) -> Collection:
    """A collection in which those shares of the regions are not recorded; else it is the same for the same seed."""
    unknown = tuple((name, south if name in SOUTH else others) for name in CONTINENTS) if south else ()
    return evenrank.generate_collection(
        folder, evenrank.GenerateSettings(n_pages, n_topics // 2, n_topics - n_topics // 2, seed, unknown=unknown)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--topics", type=int, default=24)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=2, help="0 and 1 chose the form that is used in Task 1")
    parser.add_argument("--task", type=int, choices=(1, 2), help="only this task")
    options = parser.parse_args()
    differences: dict[tuple[str, int, str], list[float]] = {}
    levels: dict[tuple[str, int], list[float]] = {}
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        with tempfile.TemporaryDirectory() as folder:
            whole = generate(Path(folder) / "whole", options.pages, options.topics, seed, 0.0, 0.0)
            for number, (world, (south, others)) in enumerate(WORLDS.items()):
                shown = generate(Path(folder) / str(number), options.pages, options.topics, seed, south, others)
                evenrank.build_index(shown)
                right = {name: south if name in SOUTH else others for name in CONTINENTS}
                models = {
                    "none": None,
                    "random, mean rate": {"geography": {"rate": (south + others) / 2}},
                    "right": {"geography": {"rate": right}},
                }
                for task in (1, 2) if options.task is None else (options.task,):
                    found = {}
                    for name, model in models.items():
                        run = evenrank.rank(shown, task, "optimal", assume=model, name="run").run
                        result = evenrank.evaluate(whole, run, depth=20 if task == 1 else 50, min_tier=0)["run"]
                        found[name] = result.values("Score" if task == 1 else "EE-L")
                    levels.setdefault((world, task), []).append(float(found["none"].mean()))
                    for name in ("random, mean rate", "right"):
                        gain = (found[name] - found["none"]) * (1 if task == 1 else -1)
                        differences.setdefault((world, task, name), []).extend(gain.tolist())
    print(f"{'world':52} {'task':>4} {'no model':>9} {'model':18} {'gain':>8} {'95 % interval':>20} {'topics':>6}")
    for (world, task, name), gains in differences.items():
        values = np.array(gains)
        half = 1.96 * values.std(ddof=1) / len(values) ** 0.5
        level = np.mean(levels[world, task])
        ends = f"({values.mean() - half:+.4f}, {values.mean() + half:+.4f})"
        print(f"{world:52} {task:>4} {level:>9.4f} {name:18} {values.mean():>+8.4f} {ends:>20} {len(values):>6}")
    print("gain: Score@20 of Task 1, and how much EE-L of Task 2 falls; scored with what was hidden")


if __name__ == "__main__":
    main()
