"""The published shape, timed: import, targets, scoring and intervals, against dense data frames and plain gunzip.

    python benchmarks/official_scale.py [--pages 6023415] [--growth N ...] [--no-peer] [--folder DIR]
    python benchmarks/official_scale.py --denser
    python benchmarks/official_scale.py --year 2022 [--pages 6460210]

Makes 6,023,415 pages, 106 topics with 2,199,203 relevant rows and 24 runs, measures every step in a process of its own
(wall time and peak memory), and prints a table for each size. The peer is a dense pandas version of the paper's
appendix, written for this comparison (dense_peer.py); it needs about 12 GB at full size, and --no-peer leaves it out.
With --denser, 95 % of the pages have one to three continents and half of them a gender, instead of a few.
With --year 2022: 6,460,210 pages with eight dimensions, 50 topics with 2.7 million judgments, 38 runs; the peer scores
a few topics of 20,000 pages by arrays of 11,176,704 groups.
"""

from __future__ import annotations

import argparse
import compileall
import gzip
import importlib.util
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import scale_2022

FULL = 6_023_415
N_RUNS = {1: 13, 2: 11}


def make_inputs(folder: Path, n_pages: int) -> None:
    """Files of the published shape, and runs as good as those of the track."""
    from evenrank.io.runs import write_run
    from evenrank.scoring.oracle import oracle_run
    from evenrank.trec.generate.generate import generate_files
    from evenrank.trec.generate.settings import official_shape

    generate_files(folder / "files", official_shape(n_pages=n_pages))
    if (folder / "denser").exists():
        make_denser(folder / "files" / "trec_metadata.json.gz")
    collection = import_files(folder)
    (folder / "runs").mkdir(exist_ok=True)
    for task, n_runs in N_RUNS.items():
        for number in range(n_runs):
            run = oracle_run(collection, task, 0.05 + 0.07 * number, seed=number).run
            write_run(run, folder / "runs" / f"task{task}-{number:02}.gz")


def make_denser(path: Path) -> None:
    """Give nearly every page of a metadata file some continents, and half of them a gender."""
    from isal import igzip

    from evenrank.wikipedia.annotate.geography import CONTINENTS

    rng = random.Random(7)
    rewritten = path.with_suffix(".new")
    with igzip.open(path, "rt") as lines, igzip.open(rewritten, "wt") as file:
        for line in lines:
            head = line.partition(', "geographic_locations"')[0]
            n_continents = rng.choices([0, 1, 2, 3], [5, 66, 19, 10])[0]
            genders = rng.choices([[], ["male"], ["female"], ["male", "female"]], [49, 35, 15, 1])[0]
            groups = json.dumps(rng.sample(CONTINENTS, n_continents)), json.dumps(genders)
            file.write(f'{head}, "geographic_locations": {groups[0]}, "gender": {groups[1]}}}\n')
    rewritten.replace(path)


def import_files(folder: Path):
    from evenrank.trec.import_files import ImportFiles, import_collection

    files = folder / "files"
    chosen = ImportFiles(
        files / "trec_metadata.json.gz",
        files / "trec_topics.json.gz",
        (files / "eval-topics-with-qrels.json.gz", files / "eval-topics.json.gz"),
    )
    return import_collection(folder / "collection", chosen, settings={})


def run_paths(folder: Path) -> list[Path]:
    return sorted((folder / "runs").iterdir())


def step_import(folder: Path) -> None:
    import_files(folder)


def step_targets(folder: Path) -> None:
    from evenrank.core.protocol import OFFICIAL_2021
    from evenrank.scoring.topic_truth import TopicTruth
    from evenrank.trec.collection import Collection

    collection = Collection.open(folder / "collection")
    for groups in ("intersection", "geography"):
        space = collection.space(groups)
        for topic in collection.topics:
            truth = TopicTruth(collection, topic, OFFICIAL_2021, space)
            assert truth.task1_target.sum() > 0.99
            assert truth.task2_target.sum() > 0.99


def step_score(folder: Path) -> None:
    from evenrank.scoring.evaluate import evaluate

    evaluate(folder / "collection", run_paths(folder), "official-2021", n_resamples=2)


def step_score_deep(folder: Path) -> None:
    from evenrank.scoring.evaluate import evaluate

    evaluate(folder / "collection", run_paths(folder), "paper-2021", n_resamples=2)


def step_intervals(folder: Path) -> None:
    from evenrank.scoring.evaluate import evaluate

    evaluate(folder / "collection", run_paths(folder), "official-2021")


def step_everything(folder: Path) -> None:
    step_import(folder)
    step_targets(folder)
    step_intervals(folder)


def step_one_run(folder: Path) -> None:
    from evenrank.__main__ import start

    sys.argv = ["evenrank", "evaluate", str(folder / "collection"), str(run_paths(folder)[0])]
    try:
        start()  # as the program does: with one thread for linear algebra
    except SystemExit as ended:
        assert not ended.code


def step_gzip(folder: Path) -> None:
    for path in (folder / "files").glob("*.gz"):
        with gzip.open(path) as file:
            while file.read(1 << 20):
                pass


def step_isal(folder: Path) -> None:
    from evenrank.io.compressed import open_compressed

    for path in (folder / "files").glob("*.gz"):
        with open_compressed(path) as file:
            while file.read(1 << 20):
                pass


def step_dense(folder: Path) -> None:
    from dense_peer import prepare_and_score

    prepare_and_score(folder / "files", run_paths(folder))


STEPS = {
    "inputs": lambda folder: make_inputs(folder, int((folder / "n_pages").read_text())),
    "decompress, zlib": step_gzip,
    "decompress, isal": step_isal,
    "import": step_import,
    "targets (2 tasks × 2 group sets)": step_targets,
    "score 24 runs, published depth": step_score,
    "score 24 runs, full depth": step_score_deep,
    "score 24 runs with intervals": step_intervals,
    "one run, from process start": step_one_run,
    "everything": step_everything,
    "dense data frames, everything": step_dense,
}


def write_bytecode() -> None:
    """Compile the package, as installing it does: else every process of a step would, where Python may not write it."""
    package = importlib.util.find_spec("evenrank")
    for folder in package.submodule_search_locations if package else []:
        compileall.compile_dir(folder, quiet=1)


def measured(step: str, folder: Path, year: int = 2021) -> tuple[float, float]:
    """Seconds and peak megabytes of one step in a new process; for 2022 seconds of processor time, children included.

    Processor time is what a ratio can be made of on a machine that does other work too.
    """
    command = [sys.executable, __file__, "--step", step, "--folder", str(folder), "--year", str(year)]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    whole = time.perf_counter() - start
    inside = json.loads(done.stdout.splitlines()[-1])
    if year == 2022:
        return inside["cpu_seconds"], inside["peak_mb"]
    return whole if "process start" in step else inside["seconds"], inside["peak_mb"]


def print_table(folder: Path, n_pages: int, names: list[str]) -> dict[str, float]:
    """Measure the steps and print them; gives their seconds."""
    print(f"\n{n_pages:,} pages")
    print(f"{'step':36}{'seconds':>9}{'peak MB':>9}{'µs a page':>11}")
    seconds = {}
    for name in names:
        seconds[name], peak = measured(name, folder)
        print(f"{name:36}{seconds[name]:9.2f}{peak:9.0f}{1e6 * seconds[name] / n_pages:11.3f}", flush=True)
    ours = seconds["everything"]
    for peer in ("decompress, zlib", "decompress, isal", "dense data frames, everything"):
        if peer in seconds:
            print(f"{peer} / everything: {seconds[peer] / ours:.2f}")
    return seconds


def print_growth(imports: dict[int, float]) -> None:
    """What each further page costs from one size to the next: flat, if the fixed cost of topics is left out."""
    print("\nimport, µs for each further page")
    sizes = sorted(imports)
    for small, large in pairwise(sizes):
        cost = 1e6 * (imports[large] - imports[small]) / (large - small)
        print(f"{small:>12,} to {large:>9,} pages{cost:10.3f}")


def main_2022(parent: Path | None, n_pages: int) -> None:
    """The shape of 2022 at full size, and the dense way beside ours on a size that fits."""
    whole = [name for name in scale_2022.STEPS if name != "inputs" and not name.startswith("1 run")]
    few = [name for name in scale_2022.STEPS if name.startswith("1 run")]
    for size, names in ((n_pages, whole), (min(n_pages, scale_2022.PEER_PAGES), few)):
        with tempfile.TemporaryDirectory(dir=parent) as temporary:
            folder = Path(temporary)
            (folder / "n_pages").write_text(str(size))
            measured("inputs", folder, 2022)
            print(f"\n{size:,} pages of 2022, seconds of processor time\n{'step':36}{'seconds':>9}{'peak MB':>9}")
            seconds = {}
            for name in names:
                seconds[name], peak = measured(name, folder, 2022)
                print(f"{name:36}{seconds[name]:9.2f}{peak:9.0f}", flush=True)
            if "import" in seconds:
                print(f"import / zcat: {seconds['import'] / seconds['zcat of the metadata']:.2f}")
            else:
                print(f"dense / sparse: {seconds[few[1]] / seconds[few[0]]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=FULL)
    parser.add_argument("--growth", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--no-peer", action="store_true", help="leave the dense version out (it needs 12 GB)")
    parser.add_argument("--denser", action="store_true", help="groups on nearly every page; this size alone")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--year", type=int, choices=[2021, 2022], default=2021)
    parser.add_argument("--step")
    args = parser.parse_args()
    if args.step:
        start, used = time.perf_counter(), os.times()
        (STEPS | scale_2022.STEPS if args.year == 2022 else STEPS)[args.step](args.folder)
        seconds, cpu = time.perf_counter() - start, sum(os.times()[:4]) - sum(used[:4])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, "peak_mb": peak}))
        return
    write_bytecode()
    if args.year == 2022:
        main_2022(args.folder, scale_2022.FULL if args.pages == FULL else args.pages)
        return
    names = [name for name in STEPS if name != "inputs" and not (args.no_peer and name.startswith("dense"))]
    imports = {}
    for n_pages in [*([] if args.denser else args.growth), args.pages]:
        with tempfile.TemporaryDirectory(dir=args.folder) as temporary:
            folder = Path(temporary)
            (folder / "n_pages").write_text(str(n_pages))
            if args.denser:
                (folder / "denser").touch()
            measured("inputs", folder)  # in a process of its own: memory that is touched here counts for every child
            seconds = print_table(folder, n_pages, names if n_pages == args.pages else ["import", "everything"])
            imports[n_pages] = seconds["import"]
    if len(imports) > 1:
        print_growth(imports)


if __name__ == "__main__":
    main()
