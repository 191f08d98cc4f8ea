"""What other packages compute on one data set, with time and memory, beside ours; agreement where definitions agree.

    python benchmarks/peers.py [--queries 50] [--items 200] [--groups 10] [--reranked 20] [--limit 280]

Each peer is installed into an environment of its own under the folder, from the package index, once, by uv where it is
at hand; one that does not install within five minutes is named with the reason. Times are seconds of processor time of
the call alone, without import and reading. MB is the peak of memory of the process, `+ MB` what of it the calls added
to the imported packages and the data. LensKit and FairDiverse bring torch, several gigabytes of disk.
A peer that takes longer than the limit, on the clock and with reading, is stopped: the row has what it had computed by
then, and the seconds of the step at which it was stopped as a lower bound. Ratios in brackets are to our time.
The table is Markdown. At 1,000 queries of 1,000 items: --queries 1000 --items 1000 --reranked 1000.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

INSTALL_SECONDS = 300
LIMIT_SECONDS = 280
HARNESS = """
import json, resource, sys, threading, time
import numpy as np, pandas as pd
folder = sys.argv[1]
run = pd.read_csv(f"{folder}/run.csv", dtype={"query": str, "item": str})
groups = pd.read_csv(f"{folder}/groups.csv", dtype=str)
qrels = pd.read_csv(f"{folder}/qrels.csv", dtype={"query": str, "item": str})
found = {}
step = ["reading", 0.0]
def tell():
    print(json.dumps({**found, "step": step[0], "step seconds": time.process_time() - step[1]}), flush=True)
def begin(name):
    step[:] = [name, time.process_time()]
    tell()
def timed(name, function):
    begin(name)
    value = function()
    found[name + " seconds"] = time.process_time() - step[1]
    begin("what follows " + name)
    return value
def watch():
    while True:
        time.sleep(5)
        tell()
threading.Thread(target=watch, daemon=True).start()
first = list(run["query"].unique()[:N_RERANKED])
share = groups["group"].value_counts(normalize=True).to_dict()
begin("preparing")
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
"""
FOOTER = """
found["MB"] = peak()
found["+ MB"] = found["MB"] - before
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
evenrank.rerank({"q": {"a": 1.0, "b": 0.5}}, {"a": "x", "b": "y"}, k=2)  # imports
before = peak()
scores = timed("score", lambda: evenrank.score(run, groups, qrels, target="population", attention="dcg", k=10))
found |= {"nDCG@10": scores.scores["nDCG"], "P@10": scores.scores["P"], "AWRF": scores.scores["AWRF"]}
some = run[run["query"].isin(first)]
fair = timed("rerank", lambda: evenrank.rerank(some, groups, target="population", k=10, workers=1))
found["gap"] = fair.certificate["gap"]
"""
PANDAS = """
before = peak()
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
before = peak()
scores = timed("score", lambda: ranx.evaluate(judged, theirs, ["ndcg@10", "precision@10"]))
found |= {"nDCG@10": float(scores["ndcg@10"]), "P@10": float(scores["precision@10"])}
"""
IR_MEASURES = """
import ir_measures
from ir_measures import P, nDCG
frame = run.rename(columns={"query": "query_id", "item": "doc_id"})
judged = qrels.rename(columns={"query": "query_id", "item": "doc_id", "grade": "relevance"})
before = peak()
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
before = peak()
found["NDKL"] = timed("score", score)
def rerank():
    for part in lists.values():
        items, scores = (pd.DataFrame({0: part[name].to_numpy()}) for name in ("item", "score"))
        frt.Rankers.DETCONSTSORT(items, {item: group_of[item] for item in part["item"]}, scores, share, 10)
timed("rerank", rerank)
"""
LENSKIT = """
from lenskit.data import DatasetBuilder, ItemListCollection
from lenskit.metrics import NDCG, Precision, RunAnalysis
from lenskit.reranking.fair import FAIRReranker, FAIRRerankerConfig
ranked = run.rename(columns={"query": "user_id", "item": "item_id"}).sort_values(["user_id", "score"], ascending=[1, 0])
ranked["rank"] = ranked.groupby("user_id").cumcount() + 1
lists = ItemListCollection.from_df(ranked, "user_id")
truth = ItemListCollection.from_df(
    qrels.rename(columns={"query": "user_id", "item": "item_id", "grade": "rating"}), "user_id"
)
analysis = RunAnalysis()
analysis.add_metric(NDCG(10, gain="rating"))
analysis.add_metric(Precision(10))
before = peak()
means = timed("score", lambda: analysis.measure(lists, truth).list_summary()["mean"])
found["nDCG@10"], found["P@10"] = (float(value) for value in means.iloc[:2])
builder = DatasetBuilder()
builder.add_entities("item", groups["item"].to_numpy())
builder.add_scalar_attribute("item", "protected", groups["item"].to_numpy(), (groups["group"] == "g0").to_numpy())
reranker = FAIRReranker(FAIRRerankerConfig(n=10, p=max(share["g0"], 0.01)))
reranker.train(builder.build())
chosen = [lists.lookup(user_id=query) for query in first]
timed("rerank", lambda: [reranker(one, n=10) for one in chosen])
"""
FAIRDIVERSE = """
import os, tempfile
from fairdiverse.recommendation import metric
ranked = run.sort_values(["query", "score"], ascending=[True, False])
grades = qrels.set_index(["query", "item"])["grade"]
labels = grades.reindex(pd.MultiIndex.from_frame(ranked[["query", "item"]]), fill_value=0).to_numpy()
n_items = ranked.groupby("query").size().iloc[0]
labels = labels.reshape(-1, n_items)
group_of = groups.set_index("item")["group"]
top = group_of.reindex(ranked.groupby("query").head(10)["item"]).value_counts()
before = peak()
def score():
    ndcg = float(np.mean([metric.NDCG(row, row, 10) for row in labels]))
    return ndcg, float(metric.Gini(top.to_numpy())), float(metric.MMF(top.to_numpy()))
found["nDCG@10"], found["Gini"], found["MMF"] = timed("score", score)
from fairdiverse.recommendation.rerank_model.CPFair import CPFair
codes = pd.Categorical(group_of).codes
model = CPFair.__new__(CPFair)
model.config, model.group_num = {"lambda": 0.1}, len(share)
model.M = np.eye(len(share))[codes[:n_items]]
matrix = ranked.sort_index()["score"].to_numpy()[: len(first) * n_items].reshape(-1, n_items)
timed("rerank", lambda: model.rerank(matrix, 10))
"""
AIF360 = """
import warnings
warnings.simplefilter("ignore")
from aif360.datasets import RegressionDataset
from aif360.algorithms.postprocessing.deterministic_reranking import DeterministicReranking
group_of = dict(zip(groups["item"], groups["group"]))
frames = []
for query in first:
    part = run[run["query"] == query]
    is_first = [float(group_of[item] == "g0") for item in part["item"]]  # it knows two groups
    frames.append(pd.DataFrame({"score": part["score"].to_numpy(), "group": is_first}))
before = peak()
def rerank():
    for frame in frames:
        data = RegressionDataset(frame, "score", ["group"], [[0.0]])
        model = DeterministicReranking([{"group": 1.0}], [{"group": 0.0}])
        model.fit(data)
        model.predict(data, 10, [share["g0"], 1 - share["g0"]], "Relaxed")
timed("rerank", rerank)
"""
PEERS = (
    Peer("evenrank", (), EVENRANK),
    Peer("plain pandas", (), PANDAS),
    Peer("ranx", ("ranx",), RANX),
    Peer("ir_measures", ("ir-measures", "pandas"), IR_MEASURES),
    Peer("FairRankTune", ("FairRankTune", "numpy", "pandas", "scipy"), FAIRRANKTUNE),
    Peer("LensKit", ("lenskit",), LENSKIT),
    Peer("FairDiverse", ("fairdiverse",), FAIRDIVERSE),
    Peer("AIF360", ("aif360", "pandas", "scikit-learn"), AIF360),
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
        python = str(place / "bin" / "python")
        uv = shutil.which("uv")
        install = [uv, "pip", "install", "-q", "--python", python] if uv else [python, "-m", "pip", "install", "-q"]
        subprocess.run([*install, *peer.packages], check=True, timeout=INSTALL_SECONDS)
        (place / "installed").touch()
    return str(place / "bin" / "python")


def ask(peer: Peer, folder: Path, n_reranked: int, limit: float) -> dict[str, Any]:
    """What a peer computes, in a process of its own; an error's last line under `error`.

    Where it takes longer than the limit, what it had computed until then, and `step` and `step seconds`.
    """
    script = HARNESS.replace("N_RERANKED", str(n_reranked)) + peer.code + FOOTER
    try:
        python = python_of(peer, folder)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return {"error": f"could not be installed: {type(error).__name__}"}
    command = [python, "-c", script, str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired as stopped:
        lines = (stopped.stdout or b"").decode().splitlines()
        return json.loads(lines[-1]) if lines else {"step": "starting", "step seconds": 0.0}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["?"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def cell(name: str, found: dict[str, Any], ours: dict[str, Any]) -> str:
    """A number as the table has it: beside ours where it is a time, `> N` where the peer was stopped."""
    value = found.get(name)
    if value is None:
        is_here = name == f"{found.get('step')} seconds"
        return f"> {found['step seconds']:.0f}, stopped" if is_here else "–"
    text = f"{value:.4f}" if value < 100 else f"{value:,.0f}"
    if name.endswith("seconds") and ours.get(name) and found is not ours:
        text = f"{text} ({value / ours[name]:.2g} ×)"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--items", type=int, default=200, help="of each query")
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--reranked", type=int, default=20, help="queries that are ranked again")
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="seconds on the clock for each peer")
    parser.add_argument("--folder", type=Path, default=Path("build/peers"))
    parser.add_argument("--only", action="append", help="this peer alone; may be repeated")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    make_data(options.folder, options.queries, options.items, options.groups)
    names = ["nDCG@10", "P@10", "AWRF", "NDKL", "Gini", "score seconds", "rerank seconds", "gap", "MB", "+ MB"]
    n_reranked = min(options.reranked, options.queries)
    print(
        f"{options.queries} queries of {options.items} items in {options.groups} groups; rerank: {n_reranked} queries\n"
    )
    print("| " + " | ".join(["package", *names]) + " |")
    print("|" + "---|" * (len(names) + 1))
    ours: dict[str, Any] = {}
    for peer in PEERS:
        if options.only and peer.name not in options.only:
            continue
        if peer.reason:
            print(f"| {peer.name} | not run: {peer.reason} |" + " |" * (len(names) - 1))
            continue
        found = ask(peer, options.folder, n_reranked, options.limit)
        ours = ours or found
        if "error" in found:
            print(f"| {peer.name} | failed: {found['error']} |" + " |" * (len(names) - 1))
            continue
        print("| " + " | ".join([peer.name, *(cell(name, found, ours) for name in names)]) + " |", flush=True)
        if "step" in found:
            print(f"{peer.name}: stopped after {options.limit:.0f} s, while {found['step']}", file=sys.stderr)


if __name__ == "__main__":
    main()
