"""`evenrank.reproduce`: all runs of a year's published tables, made, scored and set beside the published figures.

What the runs are is data (`reproduce_YEAR.toml`). Finished runs are kept by content, so that an interrupted call
resumes; the same seed gives the same bytes.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from evenrank.core.records import Task
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, MissingExtraError, UnknownNameError
from evenrank.experiments.data import checksum
from evenrank.experiments.experiment import world_folder
from evenrank.io.atomic import write_json
from evenrank.io.runs import write_run
from evenrank.measures.registry import MAIN
from evenrank.parallel import map_batches
from evenrank.progress import track
from evenrank.ranking.make_job import divide_settings
from evenrank.ranking.prepared import PreparedTopics
from evenrank.retrieval.encode.encoder import EncoderSettings
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.model_choice import ModelChoice, choose_model, use_encoder
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.intervals import Interval
from evenrank.scoring.results import Results, RunResult
from evenrank.scoring.sensitivity import kendall_tau
from evenrank.scoring.tables import Cell, Column, Table, text_of
from evenrank.trec.collection import Collection, as_collection
from evenrank.trec.generate.settings import WORLDS, GenerateSettings
from evenrank.trec.manifest import FILE_NAME
from evenrank.trec.sources import base_url, official_files

YEARS = (2021, 2022)
RUNS = "runs"
"""Folder of the run files."""
NOT_MADE = "not made"
MARKS: dict[str, str] = {
    "close": "made of the same components",
    "reconstructed": "made as the run is described, with what no description says chosen by us",
    "approximate": "a main component is missing",
    NOT_MADE: "too little is known of it, or a component cannot be run here",
}
"""How near a run of ours is to the published one."""
MEASURES: dict[Task, tuple[str, ...]] = {1: ("nDCG", "AWRF", "Score"), 2: ("EE-R", "EE-D", "EE-L")}
"""Columns of the paper's tables."""
WORLD = "track-2021"
N_TRAIN, N_EVAL, WITHOUT = 57, 49, (133,)
"""Topics of the track of 2021; number 133 has no judgments."""
APPROXIMATION = "untrained"
"""Relevance model of runs that used a neural network whose weights are not given."""


@dataclass(frozen=True)
class PublishedRun:
    """A run of a published table, and how it is made here."""

    name: str
    task: Task
    mark: str
    """How near ours is (`MARKS`)."""
    missing: str
    """What is missing."""
    published: Mapping[str, float]
    """Published means by measure, and `low` and `high`, the ends of the interval of the main one."""
    policy: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of the policy and of its candidates."""
    model: str = ""
    """Relevance model; `encoder` is the user's network, or an approximation by words."""
    encoder: str = ""
    """The network that the run used, if any."""

    @property
    def is_made(self) -> bool:
        return self.mark != NOT_MADE

    @property
    def needs_trees(self) -> bool:
        return self.settings.get("learner") == "lambdamart"


@dataclass(frozen=True)
class PublishedTables:
    """The runs of a year and what is published of them."""

    year: int
    title: str
    dataset: str
    """Name in ir_datasets."""
    ranked_for: str
    """Protocol whose length and attention the runs serve."""
    scored_with: str
    """Protocol of the published figures."""
    information: str
    """Dimensions that participants knew; empty for all."""
    baseline: Mapping[Task, str]
    """The run by relevance alone that effects are against, by task."""
    runs: tuple[PublishedRun, ...]
    superseded: tuple[Task, ...] = ()
    """Tasks whose published figures are on another scale than those of the corrected scorer."""


def published_tables(year: int) -> PublishedTables:
    """The manifest of a year."""
    if year not in YEARS:
        raise UnknownNameError("year", str(year), map(str, YEARS))
    table = tomllib.loads(files("evenrank.experiments").joinpath(f"reproduce_{year}.toml").read_text("utf-8"))
    runs = tuple(PublishedRun(**run) for run in table.pop("runs"))
    baseline = {MAIN_TASKS[task]: run for task, run in table.pop("baseline").items()}
    return PublishedTables(
        year=year, **{**table, "superseded": tuple(table.get("superseded", ()))}, baseline=baseline, runs=runs
    )


MAIN_TASKS: dict[str, Task] = {"1": 1, "2": 2}


def official_data(year: int) -> list[str]:
    """How to get the official files of a year: name, size, md5 and address of each, and the commands."""
    tables = published_tables(year)
    lines = [f"official files of {year}:"]
    for one in official_files().values():
        if one.year == year:
            size = "size unknown" if one.size_bytes is None else f"{one.size_bytes:,} bytes"
            lines.append(f"  {one.name}: {size}, md5 {one.md5 or 'unknown'}, {one.url or base_url() + one.name}")
    lines += [
        f"get them: evenrank collection download FILES --year {year}, or evenrank collection import COLLECTION "
        f"--ir-dataset {tables.dataset}",
        f"then: evenrank index COLLECTION; evenrank experiment reproduce-{year} DIR --collection COLLECTION",
    ]
    return lines


@dataclass(frozen=True)
class Reproduction:
    """A year's tables, published and ours."""

    tables: PublishedTables
    results: Results = field(repr=False)
    collection: str
    """What the runs were made on."""
    n_pages: int
    is_generated: bool
    seed: int

    @property
    def ours(self) -> dict[str, RunResult]:
        return {run.run: run for run in self.results.runs}

    @property
    def tasks(self) -> list[Task]:
        return sorted({run.task for run in self.tables.runs})

    def runs(self, task: Task) -> list[PublishedRun]:
        """The runs of a task, as published, best first."""
        return [run for run in self.tables.runs if run.task == task]

    def tau(self, task: Task) -> float:
        """Kendall's τ between the published order and ours, over the runs that were made."""
        made = [run for run in self.runs(task) if run.name in self.ours]
        name = MAIN[task].name
        return kendall_tau([run.published[name] for run in made], [self.ours[run.name].scores[name] for run in made])

    def effects(self, run: PublishedRun) -> tuple[float, float | None, float | None]:
        """Against the relevance run: published and our relative difference, and our mean paired difference in units of
        its standard deviation over topics (Cohen's d). Above 0 is better."""
        name, sign = MAIN[run.task].name, 1.0 if MAIN[run.task].higher_is_better else -1.0
        by_name = {one.name: one for one in self.tables.runs}
        base = by_name[self.tables.baseline[run.task]]
        published = sign * (run.published[name] / base.published[name] - 1.0) + 0.0  # no minus zero
        if run.name not in self.ours:
            return published, None, None
        ours, theirs = self.ours[run.name], self.ours[base.name]
        topics = [topic for topic in theirs.topics if topic in ours.topics]
        differences = sign * np.array([ours.topics[topic][name] - theirs.topics[topic][name] for topic in topics])
        spread = float(np.std(differences, ddof=1)) if len(topics) > 1 else 0.0
        relative = sign * (ours.scores[name] / theirs.scores[name] - 1.0) + 0.0
        return published, relative, float(differences.mean()) / spread if spread > 0.0 else 0.0

    def table(self, task: Task) -> Table:
        """The paper's table: a row per run, published figures beside ours."""
        measures, main = MEASURES[task], MAIN[task]
        rows: list[tuple[Cell, ...]] = []
        for run in self.runs(task):
            ours = self.ours.get(run.name)
            ends = Interval(run.published["low"], run.published["high"], 0.0)
            rows.append(
                (
                    run.name,
                    *(run.published[name] for name in measures),
                    ends,
                    *(None if ours is None else ours.scores[name] for name in measures),
                    None if ours is None else ours.interval,
                    None if ours is None else ours.scores[main.name] - run.published[main.name],
                )
            )
        columns = (
            Column("run"),
            *(Column(f"published_{name}", name) for name in measures),
            Column("published_interval", "95 % CI", digits=3),
            *(Column(f"our_{name}", f"our {name}") for name in measures),
            Column("our_interval", "our 95 % CI", digits=3),
            Column("difference", f"{main.name} − published"),
        )
        return Table(
            columns, tuple(rows), f"Task {task}, {self.tables.title}: published, and ours on {self.collection}"
        )

    def effects_table(self, task: Task) -> Table:
        """A row per run: how near it is, its place in both orders, and its effect against the relevance run."""
        name, higher = MAIN[task].name, MAIN[task].higher_is_better
        made = [run.name for run in self.runs(task) if run.name in self.ours]
        ordered = sorted(made, key=lambda run: (-1.0 if higher else 1.0) * self.ours[run].scores[name])
        rows: list[tuple[Cell, ...]] = []
        for place, run in enumerate(self.runs(task), 1):
            published, ours, size = self.effects(run)
            our_place = ordered.index(run.name) + 1 if run.name in made else None
            rows.append(
                (
                    run.name,
                    run.mark,
                    place,
                    our_place,
                    100 * published,
                    None if ours is None else 100 * ours,
                    size,
                    run.missing,
                )
            )
        columns = (
            Column("run"),
            Column("mark"),
            Column("place"),
            Column("our_place", "our place"),
            Column("effect", "effect %", digits=1),
            Column("our_effect", "our effect %", digits=1),
            Column("our_d", "our d", digits=2),
            Column("missing"),
        )
        against = self.tables.baseline[task]
        return Table(columns, tuple(rows), f"Task {task}: effect on {name} against {against} (above 0 is better)")

    def notes(self) -> list[str]:
        """What a reader must know before the figures are compared."""
        said = [
            f"Kendall τ of our order with the published one, Task {task}: {self.tau(task):.2f}" for task in self.tasks
        ]
        if self.is_generated:
            said.append("ours are on generated articles and topics: orders and effects can be compared, levels cannot")
        if self.tables.year == 2022 and self.is_generated:
            said.append("generated articles have geography and gender of the eight dimensions of 2022")
        if self.tables.superseded:
            of = ", ".join(map(str, self.tables.superseded))
            said.append(
                f"Task {of}: the published scale is that of a scorer that was corrected later; compare orders only"
            )
        used = dict.fromkeys(run.mark for run in self.tables.runs)
        return [*said, *(f"{mark}: {meaning}" for mark, meaning in MARKS.items() if mark in used)]

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "schema": "evenrank.reproduce/1",
            "evenrank_version": version("evenrank"),
            "year": self.tables.year,
            "collection": {"name": self.collection, "n_pages": self.n_pages, "is_generated": self.is_generated},
            "seed": self.seed,
            "protocol": self.results.protocol.settings(),
            "kendall_tau": {str(task): self.tau(task) for task in self.tasks},
            "notes": self.notes(),
            "runs": [
                {
                    **asdict(run),
                    **dict(zip(("effect", "our_effect", "our_d"), self.effects(run), strict=True)),
                    "ours": self.ours[run.name].to_json() if run.name in self.ours else None,
                }
                for run in self.tables.runs
            ],
        }

    def write(self, folder: FilePath) -> Path:
        """`report.html`, both tables of each task as LaTeX and TSV, and `results.json`."""
        from evenrank.experiments.report import write_comparison

        tables: dict[str, Table] = {}
        for task in self.tasks:
            tables |= {f"task{task}": self.table(task), f"task{task}-effects": self.effects_table(task)}
        title = f"{self.tables.title}: published tables and ours"
        return write_comparison(Path(folder), title, tables, self.notes(), self.to_json())

    def __str__(self) -> str:
        parts = [text_of(make(task)) for task in self.tasks for make in (self.table, self.effects_table)]
        return "\n".join([*parts, *self.notes()])

    __repr__ = __str__


@dataclass(frozen=True)
class RunBatch:
    """Runs that share their candidates, to be made by one process."""

    collection: Path
    folder: Path
    task: Task
    protocol: str
    model: ModelChoice
    candidates: tuple[tuple[str, str], ...]
    runs: tuple[tuple[PublishedRun, str], ...]
    """Runs with the checksum of all that decides them."""
    topic_ids: tuple[int, ...]
    seed: int


def reproduce(
    year: int,
    folder: FilePath,
    *,
    collection: Collection | FilePath | None = None,
    encoder: EncoderSettings | None = None,
    n_pages: int = 20_000,
    n_topics: int = N_TRAIN + N_EVAL,
    seed: int = 0,
    workers: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Reproduction:
    """Every run of the published tables of a year, made and scored, beside the published figures, in `folder`.

    `collection` has the official data, imported and indexed. Without it, a collection of the track's shape is generated
    in the folder: `n_pages` articles, `n_topics` topics, of which 57 in 106 are for training; training topics have as
    many relevant pages for one of an evaluation topic as in the track, as far as the pages allow. `encoder` is the
    network of runs that used RoBERTa or BERT; without it, words take its place, and the runs are marked. Finished runs
    are kept, and made again only when something that decides them has changed. `say` gets a line for each step.
    """
    tables = published_tables(year)
    if any(run.needs_trees for run in tables.runs) and find_spec("lightgbm") is None:
        raise MissingExtraError("LambdaMART of the learned runs", "learn")
    if encoder is not None:
        use_encoder(encoder)  # a network that cannot be used is found out now
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    tables = replace(tables, runs=tuple(_with_encoder(run, encoder) for run in tables.runs))
    if collection is None:
        for line in official_data(year):
            say(line)
        say(f"no --collection: a collection of {n_pages:,} pages is generated instead")
        opened = Collection.open(world_folder(track_shape(n_pages, n_topics, seed), place, workers))
    else:
        opened = as_collection(collection)
        build_index(opened, workers=workers)
    paths = _make_runs(opened, tables, place, encoder, seed, workers)
    say(f"scoring {len(paths)} runs")
    is_known = all(name in opened.masks for name in PROTOCOL_DIMENSIONS[year])
    groups = "intersection" if is_known else ("geography", "gender")
    results = evaluate(opened, paths, tables.scored_with, groups)
    generated = collection is None
    name = f"{len(opened):,} generated pages" if generated else str(opened.path)
    made = Reproduction(tables, results, name, len(opened), generated, seed)
    made.write(place)
    return made


PROTOCOL_DIMENSIONS = {2021: ("geography", "gender"), 2022: ("sub-region", "source-region", "gender", "occupation")}
"""Dimensions without which a collection cannot be scored as that year's track was."""


def track_shape(n_pages: int, n_topics: int = N_TRAIN + N_EVAL, seed: int = 0) -> GenerateSettings:
    """Settings of a generated collection in the shape of the track of 2021."""
    n_train = max(1, round(n_topics * N_TRAIN / (N_TRAIN + N_EVAL)))
    n_eval = n_topics - n_train
    if n_eval < 2:
        raise EvenrankError(f"{n_topics} topics are too few (at least 4)")
    world = WORLDS[WORLD](n_pages, n_train, n_eval)
    return GenerateSettings(
        **world, n_pages=n_pages, n_train_topics=n_train, n_eval_topics=n_eval, seed=seed, skipped_eval_ids=WITHOUT
    )


def _with_encoder(run: PublishedRun, encoder: EncoderSettings | None) -> PublishedRun:
    """The run, marked as approximate where the weights of its network are not given."""
    if not run.encoder or encoder is not None or not run.is_made:
        return run
    return replace(run, mark="approximate", missing=f"weights of {run.encoder} (--encoder; words here); {run.missing}")


def _make_runs(
    collection: Collection,
    tables: PublishedTables,
    folder: Path,
    encoder: EncoderSettings | None,
    seed: int,
    workers: int | None,
) -> list[Path]:
    """The files of all runs; those that the folder has are not made again."""
    made = [run for run in tables.runs if run.is_made]
    batches = list(_batches(collection, tables, made, folder, encoder, seed))
    (folder / RUNS).mkdir(exist_ok=True)
    done = map_batches(_make_batch, batches, min(workers or 1, max(len(batches), 1)))
    n_kept = len(made) - sum(len(batch.runs) for batch in batches)
    finished = (name for names in done for name in names)
    for _ in track(finished, "runs", len(made) - n_kept, "run"):
        pass
    return [_run_path(folder, run) for run in made]


def _batches(
    collection: Collection,
    tables: PublishedTables,
    runs: Sequence[PublishedRun],
    folder: Path,
    encoder: EncoderSettings | None,
    seed: int,
) -> Iterator[RunBatch]:
    """Runs that are missing, those with the same candidates together, the longest batches first."""
    manifest = (collection.path / FILE_NAME).read_bytes().decode()
    topic_ids = tuple(topic.id for topic in collection.topics if topic.split == "eval" and len(topic.rel_docs))
    if not topic_ids:
        raise EvenrankError(f"{collection.path}: no evaluation topic has relevant pages (import the judgments)")
    models = {run.model: _model(collection, run.model, encoder) for run in runs}
    missing: list[tuple[Task, str, tuple[tuple[str, str], ...], PublishedRun, str]] = []
    for run in runs:
        known = {"information": tables.information} if tables.information else {}
        of_candidates, _ = divide_settings({**known, **run.settings}, run.policy)
        facts = (run.policy, dict(run.settings), models[run.model].describe(), tables.ranked_for, known, topic_ids)
        key = checksum(manifest, facts, seed, version("evenrank"))
        if not _is_kept(folder, run, key):
            missing.append((run.task, run.model, tuple(sorted(of_candidates.items())), run, key))
    grouped = groupby(sorted(missing, key=lambda one: (one[:3], one[3].name)), key=lambda one: one[:3])
    batches = [
        RunBatch(
            *(collection.path, folder, task, tables.ranked_for, models[model], candidates),
            *(tuple((one[3], one[4]) for one in group), topic_ids, seed),
        )
        for (task, model, candidates), group in grouped
    ]
    yield from sorted(batches, key=lambda batch: -len(batch.runs) * batch.task)


def _model(collection: Collection, name: str, encoder: EncoderSettings | None) -> ModelChoice:
    if name != "encoder":
        return choose_model(collection, name)
    return (
        choose_model(collection, APPROXIMATION) if encoder is None else choose_model(collection, "hybrid", encoder, 0)
    )


def _run_path(folder: Path, run: PublishedRun) -> Path:
    return folder / RUNS / f"{run.name}.tsv.gz"


def _record_path(folder: Path, run: PublishedRun) -> Path:
    return folder / RUNS / f"{run.name}.made.json"


def _is_kept(folder: Path, run: PublishedRun, key: str) -> bool:
    """Whether the folder has the run as it would be made, whole."""
    try:
        record = orjson.loads(_record_path(folder, run).read_bytes())
        content = hashlib.sha256(_run_path(folder, run).read_bytes()).hexdigest()
    except (OSError, ValueError):
        return False
    return isinstance(record, dict) and (record.get("key"), record.get("sha256")) == (key, content)


def _make_batch(batch: RunBatch) -> list[str]:
    """Make the runs of a batch, each kept as soon as it is finished."""
    collection = Collection.open(batch.collection)
    prepared = PreparedTopics(
        collection, batch.task, protocol=batch.protocol, model=batch.model, settings=dict(batch.candidates)
    )
    for run, key in batch.runs:
        _, of_policy = divide_settings(run.settings, run.policy)
        made = replace(prepared.rank(run.policy, of_policy, batch.topic_ids, batch.seed), name=run.name)
        path = _run_path(batch.folder, run)
        write_run(made, path)
        record = {
            "key": key,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "run": run.name,
            "policy": run.policy,
            "settings": {**dict(batch.candidates), **run.settings},
            "model": batch.model.describe(),
            "protocol": batch.protocol,
            "seed": batch.seed,
            "evenrank_version": version("evenrank"),
        }
        write_json(_record_path(batch.folder, run), record)
    return [run.name for run, _ in batch.runs]
