"""Steps of `official_scale.py --year 2022`: the shape of TREC 2022, and the organisers' way on a size that fits."""

from __future__ import annotations

import subprocess
from pathlib import Path

FULL = 6_460_210
N_JUDGMENTS = 2_737_612
N_RUNS = {1: 27, 2: 11}
PEER_RUNS = 1
PEER_TOPICS = 3
PEER_PAGES = 20_000


def make_inputs(folder: Path, n_pages: int) -> None:
    import numpy as np

    import shape_2022  # imports numpy, whose memory would count in every step
    from evenrank.io.runs import write_run
    from evenrank.scoring.oracle import oracle_run
    from evenrank.trec.import_files import ImportFiles, import_collection

    files = folder / "files"
    files.mkdir(parents=True)
    shape_2022.write_metadata(files / "metadata.json.gz", n_pages)
    bare = import_collection(folder / "bare", ImportFiles(files / "metadata.json.gz"))
    shape_2022.write_topics(files / "reldocs.jsonl", np.asarray(bare.page_ids), N_JUDGMENTS * n_pages // FULL)
    collection = _import(folder)
    (folder / "runs").mkdir()
    for task, n_runs in N_RUNS.items():
        for number in range(n_runs):
            run = oracle_run(collection, task, 0.05 + 0.03 * number, seed=number, protocol="official-2022").run
            write_run(run, folder / "runs" / f"task{task}-{number:02}.gz")


def _import(folder: Path):
    from evenrank.trec.import_files import ImportFiles, import_collection

    files = folder / "files"
    chosen = ImportFiles(files / "metadata.json.gz", eval_topics=(files / "reldocs.jsonl",))
    return import_collection(folder / "collection", chosen)


def step_zcat(folder: Path) -> None:
    subprocess.run(["zcat", str(folder / "files" / "metadata.json.gz")], check=True, stdout=subprocess.DEVNULL)


def step_import(folder: Path) -> None:
    _import(folder)


def step_score(folder: Path) -> None:
    from evenrank.scoring.evaluate import evaluate

    evaluate(folder / "collection", sorted((folder / "runs").iterdir()), "official-2022")


def step_attributes(folder: Path) -> None:
    from evenrank.scoring.attributes import evaluate_attributes

    evaluate_attributes(folder / "collection", sorted((folder / "runs").iterdir()), "official-2022")


def _few(folder: Path):
    from evenrank.core.records import Run
    from evenrank.io.runs import read_run
    from evenrank.trec.collection import Collection

    runs = [read_run(path) for path in sorted((folder / "runs").glob("task1-*"))[:PEER_RUNS]]
    kept = [list(run.rankings())[:PEER_TOPICS] for run in runs]
    return Collection.open(folder / "collection"), [
        Run.from_rankings(run.name, 1, iter(rankings)) for run, rankings in zip(runs, kept, strict=True)
    ]


def step_few_sparse(folder: Path) -> None:
    from evenrank.scoring.evaluate import evaluate

    collection, runs = _few(folder)
    evaluate(collection, runs, "official-2022", n_resamples=2, operation_order="any")


def step_few_dense(folder: Path) -> None:
    from dense_peer_2022 import dense_awrf
    from evenrank.scoring.evaluate import evaluate

    collection, runs = _few(folder)
    for run in runs:
        dense = dense_awrf(collection, run)
        sparse = evaluate(collection, run, "official-2022", n_resamples=2).runs[0].topics
        assert all(abs(dense[topic] - scores["AWRF"]) < 1e-12 for topic, scores in sparse.items())


STEPS = {
    "inputs": lambda folder: make_inputs(folder, int((folder / "n_pages").read_text())),
    "zcat of the metadata": step_zcat,
    "import": step_import,
    "score 38 runs with intervals": step_score,
    "38 runs by attribute (12 × score)": step_attributes,
    "1 run, 3 topics, sparse": step_few_sparse,
    "1 run, 3 topics, dense": step_few_dense,
}
