"""`det-const-sort` beside the DetConstSort of FairRankTune, which runs in an environment of its own.

    python -m venv peer && peer/bin/pip install FairRankTune pandas
    python benchmarks/det_const_sort_peer.py peer/bin/python [--instances 300]

Both order random candidates under the same shares of groups. The released peer compares ranks counted from 1 with
places counted from 0, and places one page more than asked for; the last line is the peer with that changed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from typing import Any

import numpy as np

from evenrank.policies.det_const_sort import constrained_sort
from evenrank.rng import derive

LENGTH = 20
PEER = """
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", metavar="PYTHON", help="interpreter of an environment with FairRankTune and pandas")
    parser.add_argument("--instances", type=int, default=300)
    options = parser.parse_args()
    instances = [make_instance(number) for number in range(options.instances)]
    lines = "\n".join(map(json.dumps, instances)) + "\n"
    done = subprocess.run([options.peer, "-c", PEER], input=lines, capture_output=True, text=True, check=True)
    ours = [our_order(instance) for instance in instances]
    peers = zip(*map(json.loads, done.stdout.splitlines()), strict=True)
    print(f"{options.instances} random instances, first {LENGTH} ranks\n")
    print("| | same order as ours | same pages | ranks with a group below its minimum |\n|---|---:|---:|---:|")
    for name, orders in zip(("ours", "FairRankTune", "FairRankTune, changed"), (ours, *peers), strict=True):
        same = np.mean([one == other for one, other in zip(ours, orders, strict=True)])
        pages = np.mean([set(one) == set(other) for one, other in zip(ours, orders, strict=True)])
        missed = np.mean([short(one, instance) for one, instance in zip(orders, instances, strict=True)])
        print(f"| {name} | {same:.0%} | {pages:.0%} | {missed:.2f} |")


def make_instance(number: int) -> dict[str, Any]:
    """Candidates by falling score, three to five groups with enough candidates each."""
    rng = derive(number, "det-const-sort")
    n_groups = int(rng.integers(3, 6))
    groups = rng.permutation(np.repeat(np.arange(n_groups), LENGTH))
    scores = np.sort(rng.random(len(groups)))[::-1]
    share = rng.dirichlet(np.full(n_groups, 2.0))
    return {"groups": groups.tolist(), "scores": scores.tolist(), "share": share.tolist(), "length": LENGTH}


def our_order(instance: dict[str, Any]) -> list[int]:
    arrays = (np.array(instance[name]) for name in ("scores", "groups", "share"))
    return constrained_sort(*arrays, LENGTH)


def short(ranking: list[int], instance: dict[str, Any]) -> int:
    """Ranks of a list at which some group has fewer pages than the floor of its share."""
    groups, share = np.array(instance["groups"])[ranking], np.array(instance["share"])
    counts = np.cumsum(groups[:, None] == np.arange(len(share)), axis=0)
    wanted = np.floor(share * np.arange(1, len(ranking) + 1)[:, None])
    return int((counts < wanted).any(axis=1).sum())


if __name__ == "__main__":
    main()
