"""What other packages compute on one data set, with time and memory, beside ours; agreement where definitions agree.

    python benchmarks/peers.py [--queries 50] [--items 200] [--groups 10] [--folder build/peers]

Each peer is installed into an environment of its own under the folder, from the package index, once. Times are
seconds of processor time of the call alone, without import and reading; memory is the peak of the process. Peers that
need gigabytes are named with the reason and not installed. The table is Markdown.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

N_RERANKED = 20
"""Queries that are ranked again; the time is given for one."""
HARNESS = """
import json, resource, sys, time
import numpy as np, pandas as pd
folder = sys.argv[1]
run = pd.read_csv(f"{folder}/run.csv", dtype={"query": str, "item": str})
groups = pd.read_csv(f"{folder}/groups.csv", dtype=str)
qrels = pd.read_csv(f"{folder}/qrels.csv", dtype={"query": str, "item": str})
found = {}
def timed(name, function):
    start = time.process_time()
    value = function()
    found[name + " seconds"] = time.process_time() - start
    return value
first = list(run["query"].unique()[:N_RERANKED])
"""
FOOTER = """
found["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Peer:
    """One package, and how it is asked for the same things."""

    name: str
    packages: tuple[str, ...]
    """What is installed; empty for the environment that runs this."""
    code: str = ""
    reason: str = ""
    """Why it is not run, if it is not."""


EVENRANK = """
import evenrank
evenrank.rerank(run[run["query"] == first[0]], groups, k=3)  # imports
scores = timed("score", lambda: evenrank.score(run, groups, qrels, target="population", attention="dcg", k=10))
found |= {"nDCG@10": scores.scores["nDCG"], "P@10": scores.scores["P"], "AWRF": scores.scores["AWRF"]}
some = run[run["query"].isin(first)]
fair = timed("rerank", lambda: evenrank.rerank(some, groups, target="population", k=10, workers=1))
found["gap"] = fair.certificate["gap"]
"""
PANDAS = """
def plain():
    ranked = run.sort_values(["query", "score"], ascending=[True, False])
    ranked["rank"] = ranked.groupby("query").cumcount() + 1
    top = ranked[ranked["rank"] <= 10].merge(groups, on="item").merge(qrels, on=["query", "item"], how="left")
    top["weight"] = 1 / np.log2(top["rank"] + 1)
    top["gain"] = top["weight"] * top["grade"].fillna(0)
    best = qrels.sort_values(["query", "grade"], ascending=[True, False])
    best["rank"] = best.groupby("query").cumcount() + 1
    best = best[best["rank"] <= 10]
    ideal = (best["grade"] / np.log2(best["rank"] + 1)).groupby(best["query"]).sum()
    ndcg = (top.groupby("query")["gain"].sum() / ideal).mean()
    exposure = top.pivot_table(index="query", columns="group", values="weight", aggfunc="sum", fill_value=0)
    p = exposure.div(exposure.sum(axis=1), axis=0)
    q = groups["group"].value_counts(normalize=True).reindex(p.columns).fillna(0)
    middle = (p + q) / 2
    kl = lambda a: (a * np.log2((a / middle).where(a > 0, 1))).sum(axis=1)
    wide = pd.DataFrame([q] * len(p), index=p.index)
    return ndcg, (1 - (kl(p) + kl(wide)) / 2).mean()
found["nDCG@10"], found["AWRF"] = timed("score", plain)
"""
RANX = """
import ranx
run = run.astype({"query": object, "item": object})
qrels = qrels.astype({"query": object, "item": object})
theirs = ranx.Run.from_df(run, q_id_col="query", doc_id_col="item", score_col="score")
judged = ranx.Qrels.from_df(qrels, q_id_col="query", doc_id_col="item", score_col="grade")
ranx.evaluate(judged, theirs, ["ndcg@10", "precision@10"])  # compiles
scores = timed("score", lambda: ranx.evaluate(judged, theirs, ["ndcg@10", "precision@10"]))
found |= {"nDCG@10": float(scores["ndcg@10"]), "P@10": float(scores["precision@10"])}
"""
IR_MEASURES = """
import ir_measures
from ir_measures import P, nDCG
frame = run.rename(columns={"query": "query_id", "item": "doc_id"})
judged = qrels.rename(columns={"query": "query_id", "item": "doc_id", "grade": "relevance"})
scores = timed("score", lambda: ir_measures.calc_aggregate([nDCG @ 10, P @ 10], judged, frame))
found |= {str(measure): value for measure, value in scores.items()}
"""
FAIRRANKTUNE = """
import FairRankTune as frt
group_of = dict(zip(groups["item"], groups["group"]))
ranked = run.sort_values("score", ascending=False)
lists = {query: part for query, part in ranked.groupby("query") if query in set(first)}
def score():
    values = []
    for part in lists.values():
        frame = pd.DataFrame({0: part["item"].to_numpy()})
        values.append(frt.Metrics.NDKL(frame, {item: group_of[item] for item in part["item"]}))
    return float(np.mean(values))
found["NDKL"] = timed("score", score)
share = groups["group"].value_counts(normalize=True).to_dict()
def rerank():
    for part in lists.values():
        items, scores = (pd.DataFrame({0: part[name].to_numpy()}) for name in ("item", "score"))
        frt.Rankers.DETCONSTSORT(items, {item: group_of[item] for item in part["item"]}, scores, share, 10)
timed("rerank", rerank)
"""
PEERS = (
    Peer("evenrank", (), EVENRANK),
    Peer("plain pandas", (), PANDAS),
    Peer("ranx", ("ranx",), RANX),
    Peer("ir_measures", ("ir-measures", "pandas"), IR_MEASURES),
    Peer("FairRankTune", ("FairRankTune", "numpy", "pandas", "scipy"), FAIRRANKTUNE),
    Peer("LensKit", (), reason="5.7 GB with torch"),
    Peer("FairDiverse", (), reason="6.6 GB"),
    Peer("AIF360", (), reason="its measure infeasible_index raised on Python 3.11; its four re-rankers ran in a trial"),
    Peer("expeval", (), reason="not on the package index"),
)


def make_data(folder: Path, n_queries: int, n_items: int, n_groups: int, seed: int = 20261115) -> None:
    """Rankings, groups and graded relevance; the same seed gives the same files."""
    rng = np.random.default_rng(seed)
    items = [f"i{n}" for n in range(n_queries * n_items)]
    shares = np.arange(1, n_groups + 1) / np.arange(1, n_groups + 1).sum()
    pd.DataFrame({"item": items, "group": rng.choice([f"g{n}" for n in range(n_groups)], len(items), p=shares)}).to_csv(
        folder / "groups.csv", index=False
    )
    query = np.repeat([f"q{n}" for n in range(n_queries)], n_items)
    grade = rng.choice([0, 1, 2], len(items), p=[0.8, 0.15, 0.05])
    score = np.round(rng.random(len(items)) * 0.6 + grade * 0.2, 9)
    pd.DataFrame({"query": query, "item": items, "score": score}).to_csv(folder / "run.csv", index=False)
    judged = pd.DataFrame({"query": query, "item": items, "grade": grade})
    judged[judged["grade"] > 0].to_csv(folder / "qrels.csv", index=False)


def python_of(peer: Peer, folder: Path) -> str:
    """The interpreter of a peer's environment, made if it is not there."""
    if not peer.packages:
        return sys.executable
    place = folder / "env" / peer.name
    if not (place / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run([str(place / "bin" / "pip"), "install", "-q", *peer.packages], check=True)
        (place / "installed").touch()
    return str(place / "bin" / "python")


def ask(peer: Peer, folder: Path) -> dict[str, float]:
    """What a peer computes, in a process of its own; an error's last line under `error`."""
    script = HARNESS.replace("N_RERANKED", str(N_RERANKED)) + peer.code + FOOTER
    python = python_of(peer, folder)
    done = subprocess.run([python, "-c", script, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["?"])[-1]}  # type: ignore[dict-item]
    return json.loads(done.stdout.splitlines()[-1])


def cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) and value < 100 else f"{value:,.0f}"  # type: ignore[str-bytes-safe]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--items", type=int, default=200, help="of each query")
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=Path("build/peers"))
    parser.add_argument("--only", action="append", help="this peer alone; may be repeated")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    make_data(options.folder, options.queries, options.items, options.groups)
    names = ["nDCG@10", "P@10", "AWRF", "NDKL", "score seconds", "rerank seconds", "gap", "MB"]
    print(
        f"{options.queries} queries of {options.items} items in {options.groups} groups; rerank: {N_RERANKED} queries\n"
    )
    print("| " + " | ".join(["package", *names]) + " |")
    print("|" + "---|" * (len(names) + 1))
    for peer in PEERS:
        if options.only and peer.name not in options.only:
            continue
        if peer.reason:
            print(f"| {peer.name} | not run: {peer.reason} |" + " |" * (len(names) - 1))
            continue
        found = ask(peer, options.folder)
        if "error" in found:
            print(f"| {peer.name} | failed: {found['error']} |" + " |" * (len(names) - 1))
            continue
        print("| " + " | ".join([peer.name, *(cell(found.get(name)) for name in names)]) + " |", flush=True)


if __name__ == "__main__":
    main()
