"""Each of our measures beside another implementation, where one installs: the largest difference over many rankings.

    python benchmarks/measure_agreement.py [--rankings 200] [--folder build/peers] [--expeval FOLDER]

The peers' environments are those of `peers.py`, made once; scipy and ir_measures are those of the environment which
runs this. Where two definitions differ, the numbers are brought together first, and the table says how. Measures
without a row have no counterpart in these packages. `expeval`, the program of Diaz et al. (2020), is on no package
index: FOLDER is a checkout of its repository at commit d943b3e, whose modules `individual` and `util` are imported.
LensKit brings torch, several gigabytes of disk. The table is Markdown.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import Cascade, Geometric
from evenrank.core.problem import QueryBatch, QueryView
from evenrank.core.protocol import PAPER_2021
from evenrank.core.records import WORK_ORDER
from evenrank.measures.registry import as_measure
from evenrank.scoring.score import score
from evenrank.trec.true_target import work_exposure
from peers import PEERS, Peer, python_of

N_GROUPS = 4
DCG = replace(PAPER_2021, attention="dcg")
"""The peers' attention: 1 / log2(rank + 1)."""
SCIPY = """
import json, sys
import numpy as np
from scipy.spatial.distance import cityblock, jensenshannon
from scipy.special import rel_entr
from scipy.stats import wasserstein_distance
found = {}
for case in json.load(open(sys.argv[1])):
    p, q = np.array(case["exposure"]), np.array(case["target"])
    places = np.arange(len(p))
    for name, value in {
        "AWRF": 1 - jensenshannon(p, q, base=2) ** 2,
        "KL": rel_entr(p, q).sum() / np.log(2),
        "AWRF-H": 1 - np.linalg.norm(np.sqrt(p) - np.sqrt(q)) / np.sqrt(2),
        "AWRF-TV": 1 - cityblock(p, q) / 2,
        "AWRF-OD": 1 - wasserstein_distance(places, places, p, q) / (len(p) - 1),
    }.items():
        found.setdefault(name, []).append(float(value))
print(json.dumps(found))
"""
FAIRRANKTUNE = """
import json, sys
import numpy as np, pandas as pd
import FairRankTune as frt
found = {}
for case in json.load(open(sys.argv[1])):
    frame = pd.DataFrame({0: range(len(case["groups"]))})
    grades = pd.DataFrame({0: [float(each) for each in case["relevant"]]})
    clicks = grades / np.log2(np.arange(2, len(frame) + 2))[:, None]
    group_of = dict(enumerate(map(str, case["groups"])))
    for name, value in {
        "NDKL": frt.Metrics.NDKL(frame, group_of),
        "DTR": frt.Metrics.EXP(frame, group_of, "MinMaxRatio")[0],
        "DTR by relevance": frt.Metrics.EXPU(frame, group_of, grades, "MinMaxRatio")[0],
        "DIR by relevance": frt.Metrics.EXPRU(frame, group_of, grades, clicks, "MinMaxRatio")[0],
    }.items():
        found.setdefault(name, []).append(float(value))
print(json.dumps(found))
"""
IR_MEASURES = """
import json, sys
import ir_measures
from ir_measures import P
found = {"P": []}
for case in json.load(open(sys.argv[1])):
    n = len(case["groups"])
    judged = [ir_measures.Qrel("q", str(item), int(case["relevant"][item])) for item in range(n)]
    ranked = [ir_measures.ScoredDoc("q", str(item), float(n - item)) for item in range(n)]
    found["P"].append(float(ir_measures.calc_aggregate([P @ n], judged, ranked)[P @ n]))
print(json.dumps(found))
"""
LENSKIT = """
import json, sys
import numpy as np
from lenskit.data import ItemList
from lenskit.metrics import NDCG, Precision
from lenskit.stats import gini
found = {}
for case in json.load(open(sys.argv[1])):
    n = len(case["groups"])
    ranked = ItemList(item_ids=np.arange(n), ordered=True)
    wanted = [item for item in range(n) if case["relevant"][item]]
    truth = ItemList(item_ids=np.array([*wanted, *range(n, n + case["n_unseen"])]))
    exposure = np.zeros(len(wanted) + case["n_unseen"])
    exposure[: len(wanted)] = 1 / np.log2(np.array(wanted) + 2)
    for name, value in {
        "nDCG": NDCG().measure_list(ranked, truth),
        "P": Precision().measure_list(ranked, truth),
        "Gini": gini(exposure),
    }.items():
        found.setdefault(name, []).append(float(value))
print(json.dumps(found))
"""
AIF360 = """
import json, sys
import pandas as pd
from aif360.datasets import RegressionDataset
from aif360.metrics import RegressionDatasetMetric
found = {}
for case in json.load(open(sys.argv[1])):
    n = len(case["groups"])
    grades = [*map(float, case["relevant"]), *[1.0] * case["n_unseen"]]
    frame = pd.DataFrame({"grade": grades, "group": [float(at % 2) for at in range(len(grades))]})
    full = RegressionDataset(frame, "grade", ["group"], [[1.0]])
    shown = full.subset(list(range(n)))
    metric = RegressionDatasetMetric(shown, [{"group": 0.0}], [{"group": 1.0}])
    value = metric.discounted_cum_gain(n, full_dataset=full, normalized=True)
    found.setdefault("nDCG by score", []).append(float(value))
print(json.dumps(found))
"""
EXPEVAL = """
import json, sys
sys.path.insert(0, sys.argv[2])
import individual
found = {}
for case in json.load(open(sys.argv[1])):
    n = max(map(len, case["rankings"]))
    scored = [[[n - rank, page] for rank, page in enumerate(ranking)] for ranking in case["rankings"]]
    lists = dict(enumerate(scored))
    grades = {int(page): grade for page, grade in case["grades"].items()}
    for model, (p, u) in case["models"].items():
        wanted = individual.target_exposures(grades, model, p, u, False)[0]
        given = individual.treatment_exposures(lists, grades, model, p, u)
        pages = {*wanted, *given}
        for name, value in {
            "EE-L-item": sum((given.get(page, 0.0) - wanted.get(page, 0.0)) ** 2 for page in pages),
            "EE-D-item": sum(value**2 for value in given.values()),
            "EE-R-item": sum(given.get(page, 0.0) * value for page, value in wanted.items()),
        }.items():
            found.setdefault(f"{name} {model}", []).append(float(value))
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Row:
    """One comparison."""

    measure: str
    peer: str
    theirs: str
    """Name among what the peer's code prints."""
    how: str
    """Where definitions differ: what was done about it."""
    factor: float = 1.0
    """What our value is multiplied by."""


ROWS = (
    Row("P", "ir_measures", "P", "the same definition"),
    Row("P", "LensKit", "P", "`Precision`, the same definition"),
    Row("nDCG", "LensKit", "nDCG", "`NDCG`, the same definition: ranks 1 and 2 weigh the same"),
    Row(
        "nDCG", "AIF360", "nDCG by score", '`discounted_cum_gain`, beside nDCG of `evenrank.score(…, attention="dcg")`'
    ),
    Row("Gini", "LensKit", "Gini", "`lenskit.stats.gini` of the relevant pages' exposure"),
    Row("AWRF", "scipy", "AWRF", "`jensenshannon`, squared"),
    Row("KL", "scipy", "KL", "`rel_entr`, in bits"),
    Row("AWRF-H", "scipy", "AWRF-H", "from the norm of √e − √t"),
    Row("AWRF-TV", "scipy", "AWRF-TV", "`cityblock` / 2"),
    Row("AWRF-OD", "scipy", "AWRF-OD", "`wasserstein_distance` over places / (n − 1)"),
    Row("NDKL", "FairRankTune", "NDKL", "theirs in nats, and 1e-7 is added to every share: ours × ln 2", math.log(2)),
    Row("DTR", "FairRankTune", "DTR", "`EXP`, smallest over largest; the target is the groups' share of the items"),
    Row("DTR", "FairRankTune", "DTR by relevance", "`EXPU`; the target is the groups' share of the relevance"),
    Row(
        "DIR",
        "FairRankTune",
        "DIR by relevance",
        "`EXPRU` with clicks as attention × relevance; the target is the groups' share of the relevance",
    ),
    *(
        Row(f"EE-{letter}-item", "expeval", f"EE-{letter}-item {model}", f"`{model}`; work levels are the grades")
        for model in ("rbp", "gerr")
        for letter in "LDR"
    ),
)
READERS = {"rbp": (0.8, 0.0), "gerr": (0.9, 0.6)}
"""Patience and satisfaction of the readers in the comparison with expeval."""


@dataclass(frozen=True)
class Pages:
    """The relevant pages of a case; none has an ideal exposure, which no peer knows."""

    page_ids: np.ndarray
    ideal_exposure: np.ndarray
    alignment: Alignment


def make_cases(n_rankings: int, seed: int = 20261115) -> list[dict]:
    """Rankings of pages in groups, every group with a relevant page, and some relevant pages that are not ranked."""
    rng = np.random.default_rng(seed)
    cases = []
    for _ in range(n_rankings):
        groups = rng.permutation([*range(N_GROUPS), *range(N_GROUPS), *rng.integers(0, N_GROUPS, rng.integers(5, 60))])
        relevant = rng.random(len(groups)) < 0.4
        for group in range(N_GROUPS):
            relevant[np.flatnonzero(groups == group)[0]] = True
        case = {"groups": groups.tolist(), "relevant": relevant.tolist(), "n_unseen": int(rng.integers(0, 20))}
        target = np.bincount(groups, minlength=N_GROUPS) / len(groups)
        view = view_of(case, target)
        exposure = view.exposure / view.exposure.sum()
        cases.append({**case, "target": target.tolist(), "exposure": exposure.tolist()})
    return cases


def make_sequences(n_sequences: int, seed: int = 20261116) -> list[dict]:
    """Sequences of rankings of 40 pages, some of them relevant, each of those with a work level as its grade."""
    rng = np.random.default_rng(seed)
    sequences = []
    for _ in range(n_sequences):
        relevant = rng.choice(40, int(rng.integers(1, 20)), replace=False).tolist()
        grades = {page: int(rng.integers(1, len(WORK_ORDER) + 1)) for page in relevant}
        n_rankings = int(rng.integers(1, 8))
        rankings = [rng.permutation(40)[: int(rng.integers(1, 30))].tolist() for _ in range(n_rankings)]
        sequences.append({"rankings": rankings, "grades": grades, "models": READERS})
    return sequences


def ours_of_sequence(sequence: dict, row: Row) -> float:
    """Our value for a sequence under the readers that the row names."""
    model = row.theirs.split()[-1]
    attention = Geometric(READERS[model][0]) if model == "rbp" else Cascade(*READERS[model])
    relevant = np.array(sorted(sequence["grades"]), np.int32)
    classes = np.array([len(WORK_ORDER) - sequence["grades"][page] for page in relevant.tolist()], np.uint8)
    ideal = work_exposure(classes, np.float64, attention)
    lengths = [len(ranking) for ranking in sequence["rankings"]]
    pages = np.concatenate(sequence["rankings"]).astype(np.int32)
    nowhere = np.zeros(len(pages), np.intp)
    view = QueryView(
        QueryBatch(
            attention_model=attention,
            protocol=replace(PAPER_2021, attention=str(attention)),
            items=pages,
            pairs=np.zeros(len(pages), np.intp),
            ranks=np.concatenate([np.arange(length) for length in lengths]),
            rankings=np.repeat(np.arange(len(lengths)), lengths),
            n_rankings=np.array([len(lengths)]),
            depth=np.array([max(lengths)]),
            ideal_depth=np.array([max(lengths)]),
            gains=np.isin(pages, relevant),
            n_relevant=np.array([len(relevant)]),
            alignment=Alignment(np.ones((1, 1)), nowhere),
            full_target=np.ones(1)[None],
            relevant_items=Pages(relevant, ideal, Alignment(np.ones((1, 1)), np.zeros(len(relevant), np.intp))),
            drops_unknown=False,
            is_share=False,
            is_exact=True,
        )
    )
    return as_measure(row.measure, 2)(view)


def view_of(case: dict, target: np.ndarray) -> QueryView:
    """A case as our measures see it."""
    groups, relevant = np.array(case["groups"]), np.array(case["relevant"])
    pages = np.arange(len(groups), dtype=np.int32)
    n_relevant = int(relevant.sum()) + case["n_unseen"]
    known = np.concatenate([pages[relevant], len(groups) + np.arange(case["n_unseen"])]).astype(np.int32)
    eye = np.eye(N_GROUPS)
    return QueryView(
        QueryBatch(
            attention_model=DCG.attention_model,
            protocol=DCG,
            items=pages,
            pairs=np.zeros(len(pages), np.intp),
            ranks=pages.astype(np.intp),
            rankings=np.zeros(len(pages), np.intp),
            n_rankings=np.array([1]),
            depth=np.array([len(pages)]),
            ideal_depth=np.array([max(len(pages), n_relevant)]),
            gains=relevant,
            n_relevant=np.array([n_relevant]),
            alignment=Alignment(eye, groups),
            full_target=target[None],
            relevant_items=Pages(known, np.zeros(len(known)), Alignment(eye, np.zeros(len(known), np.intp))),
            drops_unknown=False,
            is_share=True,
            is_ordered=True,
            is_exact=True,
        )
    )


def ours(case: dict, row: Row) -> float:
    """Our value, times what makes it comparable."""
    if row.peer == "expeval":
        return ours_of_sequence(case, row)
    target = np.array(case["target"])
    if row.theirs == "nDCG by score":
        n = len(case["groups"])
        judged = [*np.flatnonzero(case["relevant"]).tolist(), *range(n, n + case["n_unseen"])]
        ranked, relevant = {"q": list(map(str, range(n)))}, {"q": list(map(str, judged))}
        return score(ranked, relevance=relevant, attention="dcg", k=n).scores["nDCG"]
    if row.theirs.endswith("by relevance"):
        target = np.bincount(case["groups"], case["relevant"], minlength=N_GROUPS)
        target = target / target.sum()
    return row.factor * as_measure(row.measure, 1)(view_of(case, target))


def theirs(peer: Peer, code: str, cases: Path, *arguments: str) -> dict[str, list[float]] | str:
    """What a peer computes for the cases in a file; the reason when it could not be asked."""
    try:
        python = python_of(peer, cases.parent)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return f"could not be installed: {type(error).__name__}"
    command = [python, "-W", "ignore", "-c", code, str(cases), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}"
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rankings", type=int, default=200)
    parser.add_argument("--folder", type=Path, default=Path("build/peers"))
    parser.add_argument("--expeval", type=Path, help="a checkout of expeval at commit d943b3e")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    cases, sequences = make_cases(options.rankings), make_sequences(options.rankings)
    paths = {name: options.folder / f"{name}.json" for name in ("cases", "sequences")}
    for path, made in zip(paths.values(), (cases, sequences), strict=True):
        path.write_text(json.dumps(made))
    by_name = {peer.name: peer for peer in PEERS} | {name: Peer(name, ()) for name in ("scipy", "ir_measures")}
    codes = {
        "scipy": SCIPY,
        "ir_measures": IR_MEASURES,
        "FairRankTune": FAIRRANKTUNE,
        "LensKit": LENSKIT,
        "AIF360": AIF360,
    }
    found = {name: theirs(by_name[name], code, paths["cases"]) for name, code in codes.items()}
    found["expeval"] = "not compared: no checkout was named"
    if options.expeval:
        found["expeval"] = theirs(Peer("expeval", ()), EXPEVAL, paths["sequences"], str(options.expeval))
    print(f"{options.rankings} rankings of pages in {N_GROUPS} groups; expeval: as many sequences of rankings\n")
    print("| measure | beside | largest difference | how they are compared |\n|---|---|---|---|")
    for row in ROWS:
        values = found[row.peer]
        if isinstance(values, str):
            print(f"| {row.measure} | {row.peer} | {values} | {row.how} |")
            continue
        compared = zip(sequences if row.peer == "expeval" else cases, values[row.theirs], strict=True)
        worst = max(abs(ours(case, row) - value) for case, value in compared)
        print(f"| {row.measure} | {row.peer} | {worst:.1e} | {row.how} |")


if __name__ == "__main__":
    sys.exit(main())
