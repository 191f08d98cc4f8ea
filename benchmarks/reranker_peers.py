"""`fa-ir` beside LensKit's FAIRReranker, and `det-const-sort` beside FairRankTune's DetConstSort, on random instances.

    python benchmarks/reranker_peers.py [--instances 300] [--folder build/peers]

Each peer runs in an environment of its own, which `peers.py` makes; one that does not install is named with the reason.
All order the same random candidates. FairRankTune as released compares ranks counted from 1 with places counted from 0,
and places one page more than asked for; the last line is the same code with that changed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from evenrank.core.rng import derive
from evenrank.policies.rerankers import adjusted_significance, constrained_sort, least_protected, order_with_minimum
from peers import PEERS, python_of

LENGTH = 20
SIGNIFICANCE = 0.1
FAIRRANKTUNE = """
import inspect, json, sys
import pandas as pd
import FairRankTune.Rankers.DetConstSort_Geyiketal as released
source = inspect.getsource(released)
changed = source.replace("maxIndices[start - 1] >= start", "maxIndices[start - 1] > start")
changed = changed.replace("while last_empty_indx <= k:", "while last_empty_indx < k:")
assert changed.count("> start") == 1 and "indx < k:" in changed
names = {}
exec(changed, names)
for line in sys.stdin:
    one = json.loads(line)
    items = list(range(len(one["scores"])))
    given = pd.DataFrame(items), dict(zip(items, one["groups"])), pd.DataFrame(one["scores"])
    orders = []
    for sort in (released.DETCONSTSORT, names["DETCONSTSORT"]):
        found = sort(*given, dict(enumerate(one["share"])), one["length"])
        orders.append([int(item) for item in found[0][0].tolist()][: one["length"]])
    print(json.dumps(orders))
"""
LENSKIT = """
import json, sys
import numpy as np
from lenskit.data import DatasetBuilder, ItemList
from lenskit.reranking.fair import FAIRReranker, FAIRRerankerConfig
for line in sys.stdin:
    one = json.loads(line)
    items = np.arange(len(one["scores"]))
    builder = DatasetBuilder()
    builder.add_entities("item", items)
    builder.add_scalar_attribute("item", "protected", items, np.array(one["groups"]) == 0)
    config = FAIRRerankerConfig(n=one["length"], p=one["share"][0], alpha=one["significance"])
    reranker = FAIRReranker(config)
    reranker.train(builder.build())
    listed = ItemList(item_ids=items, scores=np.array(one["scores"]), ordered=True)
    print(json.dumps([[int(item) for item in reranker(listed, n=one["length"]).ids()]]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=300)
    parser.add_argument("--folder", type=Path, default=Path("build/peers"), help="of the peers' environments")
    options = parser.parse_args()
    instances = [make_instance(number) for number in range(options.instances)]
    print(f"{options.instances} random instances, first {LENGTH} ranks\n")
    print("| | same order as ours | same pages | ranks with a group below its minimum |\n|---|---:|---:|---:|")
    show("fa-ir, adjusted", [fa_ir(one) for one in instances], instances)
    ask("LensKit", LENSKIT, ("LensKit's FAIRReranker",), options.folder, instances, [fa_ir(one) for one in instances])
    ours = [our_sort(one) for one in instances]
    show("det-const-sort", ours, instances)
    ask("FairRankTune", FAIRRANKTUNE, ("FairRankTune", "FairRankTune, changed"), options.folder, instances, ours)


def ask(
    peer: str,
    code: str,
    names: tuple[str, ...],
    folder: Path,
    instances: list[dict[str, Any]],
    ours: list[list[int]],
) -> None:
    """A line of the table for each order that a peer gives, or the reason why there is none."""
    try:
        python = python_of(next(one for one in PEERS if one.name == peer), folder)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"| {peer} | could not be installed: {type(error).__name__} | | |")
        return
    lines = "\n".join(map(json.dumps, instances)) + "\n"
    done = subprocess.run([python, "-c", code], input=lines, capture_output=True, text=True, check=True)
    for name, orders in zip(names, zip(*map(json.loads, done.stdout.splitlines()), strict=True), strict=True):
        show(name, list(orders), instances, ours)


def show(
    name: str, orders: list[list[int]], instances: list[dict[str, Any]], ours: list[list[int]] | None = None
) -> None:
    """One line of the table."""
    same, pages = "", ""
    if ours is not None:
        same = f"{np.mean([one == other for one, other in zip(ours, orders, strict=True)]):.0%}"
        pages = f"{np.mean([set(one) == set(other) for one, other in zip(ours, orders, strict=True)]):.0%}"
    missed = np.mean([short(one, instance) for one, instance in zip(orders, instances, strict=True)])
    print(f"| {name} | {same} | {pages} | {missed:.2f} |", flush=True)


def make_instance(number: int) -> dict[str, Any]:
    """Candidates by falling score, three to five groups with enough candidates each; FA*IR protects the first one."""
    rng = derive(number, "det-const-sort")
    n_groups = int(rng.integers(3, 6))
    groups = rng.permutation(np.repeat(np.arange(n_groups), LENGTH))
    scores = np.sort(rng.random(len(groups)))[::-1]
    share = rng.dirichlet(np.full(n_groups, 2.0))
    return {
        "groups": groups.tolist(),
        "scores": scores.tolist(),
        "share": share.tolist(),
        "length": LENGTH,
        "significance": SIGNIFICANCE,
    }


def our_sort(instance: dict[str, Any]) -> list[int]:
    arrays = (np.array(instance[name]) for name in ("scores", "groups", "share"))
    return constrained_sort(*arrays, LENGTH)


def fa_ir(instance: dict[str, Any]) -> list[int]:
    share = float(instance["share"][0])
    least = least_protected(LENGTH, share, adjusted_significance(LENGTH, share, SIGNIFICANCE))
    return order_with_minimum(np.array(instance["groups"]) == 0, least).tolist()


def short(ranking: list[int], instance: dict[str, Any]) -> int:
    """Ranks of a list at which some group has fewer pages than the floor of its share."""
    groups, share = np.array(instance["groups"])[ranking], np.array(instance["share"])
    counts = np.cumsum(groups[:, None] == np.arange(len(share)), axis=0)
    wanted = np.floor(share * np.arange(1, len(ranking) + 1)[:, None])
    return int((counts < wanted).any(axis=1).sum())


if __name__ == "__main__":
    main()
