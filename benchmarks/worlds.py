"""Policies in many worlds: the score and the regret of each, tuned rivals on the same budget, real data beside them.

    python benchmarks/worlds.py CACHE [--only NAME]... [--reduced] [--workers N] [--json FILE]

The worlds and the policies are those of `worlds.toml`; real worlds are added where `../shared` has them. CACHE keeps
collections and finished trials, so that an interrupted run resumes and worlds can be run one at a time (`--only`); the
table is made of all worlds that are finished. `--reduced` makes every generated world a tenth of its size, with two
seeds, fewer rivals and a budget of 4: it shows the shape of the table, and its intervals say how little is certain.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from evenrank.core.records import Task
from evenrank.experiments.data import OwnData, StudyData
from evenrank.experiments.experiment import Experiment, Regret, open_data, run_study
from evenrank.experiments.report import regret_table, text_of
from evenrank.experiments.study import Study, read_study
from real_worlds import real_worlds

STUDY = Path(__file__).with_name("worlds.toml")
REDUCED_PAGES, REDUCED_TOPICS, REDUCED_SEEDS, REDUCED_BUDGET = 5000, 24, 2, 4
REDUCED_POLICIES = {
    *("relevance", "optimal", "greedy", "greedy (tuned)", "exposure-disparity (tuned)", "deficit (tuned)"),
    *("swap (tuned)", "det-const-sort (tuned)"),
}
REDUCED_PEOPLE = {*REDUCED_POLICIES, "fa-ir (tuned)"}
"""Rivals on own data, where lists are short and cheap."""
N_REAL = 8
"""Real worlds beside the generated ones."""
HALVES, REDUCED_HALVES, K = 100, 30, 100
SHOWN: dict[Task, tuple[str, ...]] = {
    1: ("Score@10", "Score@20", "Score@50", "Score@100", "Score"),
    2: ("EE-L", "P", "Shown"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cache", type=Path, metavar="CACHE")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--reduced", action="store_true")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    study = the_study(reduced=options.reduced)
    options.cache.mkdir(parents=True, exist_ok=True)
    for data in all_worlds(study, options.cache, options.only, REDUCED_HALVES if options.reduced else HALVES):
        place = options.cache / "finished" / f"{data.name}, Task {data.task}.json"
        if place.exists():
            continue
        print(f"{data.name}, Task {data.task}", file=sys.stderr, flush=True)
        keep(run_study(fitted(study, data, reduced=options.reduced), [data], options.cache, options.workers), place)
    report(options.cache, study, options.json)


def the_study(*, reduced: bool) -> Study:
    """The study of `worlds.toml`, or the same with small worlds and a small budget.

    Upper limits of regret are to hold in all worlds together, so each is at a smaller level.
    """
    table = tomllib.loads(STUDY.read_text(encoding="utf-8"))
    if reduced:
        for data in table["data"]:
            data |= {"pages": REDUCED_PAGES, "topics": REDUCED_TOPICS, "seeds": data["seeds"][:REDUCED_SEEDS]}
        table["tuning"]["budget"] = REDUCED_BUDGET
    study = read_study(table)
    policies = tuple(policy for policy in study.policies if not reduced or policy.label in REDUCED_PEOPLE)
    return replace(study, policies=policies, level=study.level / (len(study.data) + N_REAL))


def all_worlds(study: Study, cache: Path, only: Sequence[str], n_halves: int) -> Iterator[StudyData]:
    """Every world of the study, one task at a time, then the real ones; some of them alone if asked for."""
    for spec in study.data:
        for task in spec.tasks if not only or spec.name in only else ():
            yield from open_data(replace(spec, tasks=(task,)), cache)
    if not only or set(only) - {spec.name for spec in study.data}:
        yield from (data for data in real_worlds(cache, n_halves, K) if not only or data.name in only)


def fitted(study: Study, data: StudyData, *, reduced: bool) -> Study:
    """The study with the measures that a data set can have (own data are short), and the rivals for it."""
    policies = [p for p in study.policies if isinstance(data, OwnData) or not reduced or p.label in REDUCED_POLICIES]
    usual = set(data.usual_measures())
    wanted = [name for name in study.measures.get(data.task, ()) if "@" not in name or name in usual]
    kept = tuple(name for name in wanted if name in usual or not isinstance(data, OwnData))
    return replace(study, policies=tuple(policies), measures={data.task: kept or data.usual_measures()})


def keep(found: Experiment, place: Path) -> None:
    """What is reported of one world, as JSON: means, regrets, frontier and what tuning chose."""
    place.parent.mkdir(exist_ok=True)
    record = found.to_json()
    for cell in record["cells"]:
        cell.pop("scores")
        if cell["tuned"]:
            cell["tuned"] = {name: cell["tuned"][name] for name in ("settings", "value", "default_value", "budget")}
    del record["study"], record["tests"]
    place.write_bytes(orjson.dumps(record, option=orjson.OPT_INDENT_2))


def report(cache: Path, study: Study, output: Path | None) -> None:
    """Tables of all finished worlds, and everything in one file."""
    worlds = [orjson.loads(path.read_bytes()) for path in sorted((cache / "finished").glob("*.json"))]
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
    if output is not None:
        budget: dict[str, Any] = {"budget": study.budget, "method": study.method}
        for world in worlds:
            world.pop("tests", None)
        output.parent.mkdir(exist_ok=True)
        output.write_bytes(orjson.dumps({"tuning": budget, "worlds": worlds}, option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    main()
