"""Policies in many worlds: the score and the regret of each, tuned rivals on the same budget, real data beside them.

    python benchmarks/worlds.py CACHE [--study FILE]... [--seeds N] [--only NAME]... [--on-own-data LABEL]...
                                [--report] [--workers N] [--json FILE]

The worlds and the policies are those of `worlds.toml`, a study of some days, unless `--study` names others, run one
after the other. `lists.toml` and `sequences.toml` are those that docs/reference/worlds.md shows. Real worlds are added
where `../shared` has them.
`--seeds` takes the first N seeds of each world, of which the first two are tuned on; another run with more of them
computes what is missing, and reports as many seeds of each task as all its worlds have.
`--on-own-data` leaves a policy, by its label, to data of people and queries, where lists are short. CACHE keeps
collections and finished trials, so that an interrupted run resumes and worlds can be run one at a time (`--only`);
`--report` runs nothing. The table is made of all worlds that are finished.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from evenrank.core.records import Task
from evenrank.core.settings import setting_texts
from evenrank.errors import EvenrankError
from evenrank.experiments.data import OwnData, PolicyChoice, Scores, Split, StudyData
from evenrank.experiments.experiment import Experiment, PooledData, Regret, open_data, run_study
from evenrank.experiments.report import regret_table
from evenrank.experiments.study import Study, read_study
from evenrank.experiments.trials import Trial, run_trials
from evenrank.measures.registry import Named
from evenrank.scoring.tables import text_of
from real_worlds import real_worlds

STUDY = Path(__file__).with_name("worlds.toml")
N_REAL = 8
"""Real worlds beside the generated ones."""
OVER_DEPTHS = "mean over depths"
N_TUNED_ON = 2
"""Seeds of a world whose training topics are tuned on where `--seeds` limits them."""
HALVES, K = 100, 100
GRADED = ("EE-L", "EE-L/T2", "nDCG", "Shown")
"""Of sequences of people, who are relevant to some degree: precision says nothing there."""
SHOWN: dict[Task, tuple[str, ...]] = {
    1: ("Score@10", "Score@20", "Score@50", "Score@100", "Score"),
    2: ("EE-L", "P", "Shown"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cache", type=Path, metavar="CACHE")
    parser.add_argument("--study", type=Path, action="append", metavar="FILE")
    parser.add_argument("--on-own-data", action="append", default=[], metavar="LABEL")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--seeds", type=int, metavar="N")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    studies = [read_study(path) for path in options.study or [STUDY]]
    # Upper limits of regret are to hold in all worlds together, so each is at a smaller level.
    studies = [replace(study, level=study.level / (len(study.data) + N_REAL)) for study in studies]
    options.cache.mkdir(parents=True, exist_ok=True)
    for study in studies if not options.report else ():
        for data in all_worlds(study, options.cache, options.only, options.seeds):
            n_seeds = len(data.parts) if isinstance(data, FirstSeeds) else None
            place = finished(options.cache, n_seeds) / f"{data.name}, Task {data.task}.json"
            if place.exists():
                continue
            print(f"{data.name}, Task {data.task}", file=sys.stderr, flush=True)
            keep(run_study(fitted(study, data, options.on_own_data), [data], options.cache, options.workers), place)
    report(studies, options)


@dataclass(frozen=True)
class FirstSeeds(PooledData):
    """A world by some of its seeds; trials are kept by seed, so that more of them can be added."""

    cache: Path

    def queries(self, split: Split) -> list[str]:
        names = super().queries(split)
        return [name for name in names if split == "eval" or int(name.partition(":")[0]) < N_TUNED_ON]

    def score(
        self,
        policy: PolicyChoice,
        settings: Mapping[str, object],
        queries: Sequence[str],
        measures: Sequence[Named],
        seed: int,
    ) -> Scores:
        asked = tuple(sorted(setting_texts(settings).items()))
        pooled: Scores = {str(measure): {} for measure in measures}
        for at, part in enumerate(self.parts):
            mine = tuple(name.partition(":")[2] for name in queries if name.partition(":")[0] == str(at))
            trials = [Trial(part, policy, asked, mine, tuple(measures), seed)] if mine else []
            for found in run_trials(trials, self.cache / "by seed"):
                if found.error:
                    raise EvenrankError(found.error)
                for measure, values in found.scores.items():
                    pooled[measure] |= {f"{at}:{query}": value for query, value in values.items()}
        return pooled


def finished(cache: Path, n_seeds: int | None = None) -> Path:
    """The folder of worlds that are finished, with so many seeds."""
    return cache / (f"finished, {n_seeds} seeds" if n_seeds else "finished")


def all_worlds(study: Study, cache: Path, only: Sequence[str], n_seeds: int | None) -> Iterator[StudyData]:
    """Every world of the study, one task at a time, then the real ones; some of them alone if asked for."""
    tasks = {task for spec in study.data for task in spec.tasks}
    for spec in study.data:
        for task in spec.tasks if not only or spec.name in only else ():
            (data,) = open_data(replace(spec, tasks=(task,), worlds=spec.worlds[:n_seeds]), cache)
            yield FirstSeeds(data.name, data.parts, cache) if n_seeds and isinstance(data, PooledData) else data
    if not only or set(only) - {spec.name for spec in study.data}:
        real = real_worlds(cache, HALVES, K)
        yield from (data for data in real if data.task in tasks and (not only or data.name in only))


def fitted(study: Study, data: StudyData, on_own_data: Sequence[str]) -> Study:
    """The study with the measures that a data set can have (own data are short), and the rivals for it."""
    policies = [p for p in study.policies if isinstance(data, OwnData) or p.label not in on_own_data]
    if isinstance(data, OwnData) and data.task == 2:
        return replace(study, policies=tuple(policies), measures={2: GRADED})
    usual = set(data.usual_measures())
    wanted = [name for name in study.measures.get(data.task, ()) if "@" not in name or name in usual]
    kept = tuple(name for name in wanted if name in usual or not isinstance(data, OwnData))
    return replace(study, policies=tuple(policies), measures={data.task: kept or data.usual_measures()})


def keep(found: Experiment, place: Path) -> None:
    """What is reported of one world, as JSON: means, regrets, frontier and what tuning chose."""
    place.parent.mkdir(exist_ok=True)
    record = found.to_json()
    record["regrets"] += [{**asdict(one), "measure": OVER_DEPTHS} for one in over_depths(found).regrets]
    for cell in record["cells"]:
        cell.pop("scores")
        if cell["tuned"]:
            cell["tuned"] = {name: cell["tuned"][name] for name in ("settings", "value", "default_value", "budget")}
    del record["study"], record["tests"]
    place.write_bytes(orjson.dumps(record, option=orjson.OPT_INDENT_2))


def over_depths(found: Experiment) -> Experiment:
    """The mean over depths, which lists are tuned by, in place of all measures."""
    scored = [cell for cell in found.cells if cell.task == 1 and not cell.error]
    depths = [name for name in SHOWN[1] if all(name in cell.scores for cell in scored)]
    cells = []
    for cell in scored:
        shared = [query for query in cell.scores[depths[0]] if all(query in cell.scores[name] for name in depths)]
        means = {query: float(np.mean([cell.scores[name][query] for name in depths])) for query in shared}
        cells.append(replace(cell, scores={"Score": means}))
    return replace(found, cells=tuple(cells))


def measured(studies: Sequence[Study], cache: Path, n_seeds: int | None) -> list[Any]:
    """What is reported: generated worlds with as many seeds as all worlds of a study have, then the real ones."""
    worlds: list[Any] = []
    for study in studies:
        planned = [f"{spec.name}, Task {task}.json" for spec in study.data for task in spec.tasks]
        folders = [finished(cache, at) for at in range(n_seeds or 0, 0, -1)]
        complete = (folder for folder in folders if all((folder / name).exists() for name in planned))
        if (folder := next(complete, None)) is not None:
            worlds += [orjson.loads((folder / name).read_bytes()) for name in planned]
    return worlds + [orjson.loads(path.read_bytes()) for path in sorted(finished(cache).glob("*.json"))]


def report(studies: Sequence[Study], options: argparse.Namespace) -> None:
    """Tables of all finished worlds, and everything in one file."""
    worlds = measured(studies, options.cache, options.seeds)
    planned = {data.name: at for at, data in enumerate(studies[0].data)}
    worlds.sort(key=lambda world: planned.get(world["cells"][0]["data"], len(planned)))
    regrets = [Regret(**one) for world in worlds for one in world["regrets"]]
    for task, measures in SHOWN.items():
        for measure in measures:
            rows = tuple(one for one in regrets if (one.task, one.measure) == (task, measure))
            if rows:
                print(text_of(regret_table(rows, task, measure)))
    for world in worlds:
        for cell in world["cells"]:
            means = "  ".join(
                f"{name} {value:.3f}" for name, value in cell["means"].items() if name in SHOWN[cell["task"]]
            )
            print(f"{cell['data']}, Task {cell['task']}: {cell['policy']:28}{means}")
    if options.json is not None:
        made_with = {
            "command": " ".join(["python benchmarks/worlds.py CACHE", *_arguments(options)]),
            "date": datetime.now(UTC).date().isoformat(),
            "versions": {name: version(name) for name in ("evenrank", "numpy", "scipy", "tantivy")},
            "tuning": {
                str(task): {"budget": study.budget, "method": study.method, "queries": study.tuning_queries}
                for study in studies
                for task in study.measures
            },
            "level": studies[0].level,
        }
        options.json.parent.mkdir(exist_ok=True)
        options.json.write_bytes(orjson.dumps({**made_with, "worlds": worlds}, option=orjson.OPT_INDENT_2) + b"\n")


def _arguments(options: argparse.Namespace) -> list[str]:
    study = [f"--study benchmarks/{path.name}" for path in options.study or ()]
    study += [f"--seeds {options.seeds}"] if options.seeds else []
    return [*study, *(f'--on-own-data "{label}"' for label in options.on_own_data)]


if __name__ == "__main__":
    main()
