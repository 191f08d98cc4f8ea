"""Run files and the records beside them; `name=path` gives a run a name, faults of all files come together."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.core.distinct import distinct
from evenrank.core.records import Run
from evenrank.core.safe_text import path_text
from evenrank.core.text_ids import TextIds
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, Fault, InputError
from evenrank.io.atomic import atomic_file, write_json
from evenrank.io.run_rows import RunRows, read_rows

MAX_FAULTS = 50
SERVE_NO_PROTOCOL = ("relevance", "mmr", "epsilon-greedy")
"""Policies that look at no group: their rankings are the same whatever scorer they are made for."""


def read_run(path: str | os.PathLike[str], ids: TextIds | None = None) -> Run:
    """The run in a file (track TSV or six-column TREC); InputError lists all faults of its form.

    Rows of one ranking are gathered wherever they are; their order in the file is the ranking. TREC rows are
    ordered by score, then by their rank column. Page ids are whole numbers; with `ids`, those of a collection
    (`Collection.text_ids`), they are text.
    """
    rows = read_rows(path, ids)
    if rows.faults:
        n_more = max(0, len(rows.faults) - MAX_FAULTS) + rows.n_more_faults
        first = [Fault(str(path), 0, rows.diagnosis)] if rows.diagnosis else []
        raise InputError([*first, *rows.faults[:MAX_FAULTS]], n_more)
    record = read_record(path)
    protocol = record.get("protocol")
    serves = isinstance(protocol, str) and record.get("policy") not in SERVE_NO_PROTOCOL
    made_for = protocol if serves else None
    return replace(run_from_rows(rows, run_name(path)), made_for=made_for, titles=_titles(record))


def run_name(path: str | os.PathLike[str]) -> str:
    """A run's name: its file name without `.gz`, `.tsv`, `.txt`, `.json` and `.run`, as text that any file can hold."""
    name = path_text(Path(path).name)
    if name == "-":
        return "stdin"
    for ending in (".gz", ".tsv", ".csv", ".txt", ".json", ".jsonl", ".run", ".trec"):
        name = name.removesuffix(ending)
    return name or Path(path).name


def run_has_text_ids(path: str | os.PathLike[str]) -> bool:
    """Whether the pages of a run file are text, by its first row."""
    rows = read_rows(path, TextIds())
    return len(rows.pages) > 0 and not str(rows.shown_page(0)).isdigit()


def run_from_rows(rows: RunRows, name: str) -> Run:
    """The run that the rows make."""
    order = ranking_order(rows)
    topic_ids, repeats = rows.topic_ids[order], rows.repeats[order]
    is_start = np.ones(len(order), bool)
    is_start[1:] = (topic_ids[1:] != topic_ids[:-1]) | (repeats[1:] != repeats[:-1])
    starts = np.flatnonzero(is_start)
    return Run(
        name=name,
        task=rows.task,
        topic_ids=topic_ids[starts],
        repeats=repeats[starts],
        starts=np.append(starts, len(order)).astype(np.int64),
        pages=rows.pages[order],
        scores=None if rows.scores is None else rows.scores[order],
        ids=rows.ids,
    )


def ranking_order(rows: RunRows) -> NDArray[np.intp]:
    """Positions of the rows, ranking by ranking, rankings in the order in which the file first names them."""
    key = rows.topic_ids.astype(np.int64) << 32 | rows.repeats
    if rows.scores is None and _is_together(key):
        return np.arange(len(key))
    _, first, ranking = np.unique(key, return_index=True, return_inverse=True)
    appearance = first[ranking]
    if rows.scores is None or rows.trec_ranks is None:
        return np.argsort(appearance, kind="stable")
    return np.lexsort((rows.trec_ranks, -rows.scores, appearance))


def _is_together(key: NDArray[np.int64]) -> bool:
    """Whether equal keys follow each other, so that every ranking is in one piece."""
    heads = key[np.flatnonzero(np.diff(key, prepend=-1))]
    return len(heads) == len(distinct(heads))


def write_run(run: Run, path: str | os.PathLike[str], form: str = "track") -> None:
    """The run as a file, gzip by the name's ending; `form` is `track` or `trec`. Same run, same bytes."""
    if form not in WRITERS:
        raise EvenrankError(f"run format {form!r} is not one of: {', '.join(WRITERS)}")
    text = WRITERS[form](run)
    with atomic_file(path) as file:
        if str(path).endswith(".gz"):
            import gzip

            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                packed.write(text)
        else:
            file.write(text)


def _track_text(run: Run) -> bytes:
    lines: list[str] = []
    for topic, repeat, pages in run.rankings():
        prefix = f"{topic}\t" if run.task == 1 else f"{topic}\t{repeat}\t"
        lines.extend(f"{prefix}{page}\n" for page in run.shown_ids(pages))
    return "".join(lines).encode()


def _trec_text(run: Run) -> bytes:
    """Six columns; the second one is Q0 in Task 1 and the repeat number in Task 2. Blanks would end the tag."""
    lines: list[str] = []
    tag = "_".join(run.name.split()) or "run"
    for index, (topic, repeat, pages) in enumerate(run.rankings()):
        iteration = "Q0" if run.task == 1 else str(repeat)
        for rank, (page, score) in enumerate(zip(run.shown_ids(pages), _scores(run, index), strict=True), 1):
            lines.append(f"{topic} {iteration} {page} {rank} {score!r} {tag}\n")
    return "".join(lines).encode()


def _scores(run: Run, index: int) -> list[float] | list[int]:
    """Scores of a ranking; a run without scores gets its length at rank 1, down to 1."""
    begin, end = int(run.starts[index]), int(run.starts[index + 1])
    if run.scores is None:
        return list(range(end - begin, 0, -1))
    scores: list[float] = run.scores[begin:end].tolist()
    return scores


WRITERS = {"track": _track_text, "trec": _trec_text}


def split_name(path: FilePath) -> tuple[str, Path]:
    """Name and file of a run: `fair=runs/a.gz` is the file runs/a.gz with the name fair, unless such a file exists."""
    text = os.fspath(path)
    name, equals, rest = text.partition("=")
    if equals and name and rest and "/" not in name and not Path(text).exists():
        return name, Path(rest)
    return run_name(text), Path(text)


def read_runs(paths: Iterable[FilePath], ids: TextIds | None = None) -> list[Run]:
    """The runs in some files; InputError lists the faults of all files. With `ids` page ids are text."""
    named = [split_name(path) for path in paths]
    runs: list[Run] = []
    faults: list[Fault] = []
    n_more = 0
    for name, path in named:
        try:
            runs.append(replace(read_run(path, ids), name=name))
        except InputError as error:
            faults += error.faults
            n_more += error.n_more
    faults += _same_names(named)
    if faults:
        raise InputError(faults, n_more)
    return runs


def _same_names(named: Iterable[tuple[str, Path]]) -> list[Fault]:
    """A fault for each file whose run has the name of an earlier one."""
    first: dict[str, Path] = {}
    faults = []
    for name, path in named:
        if name in first:
            found = f"run name {name!r} is also that of {first[name]}"
            faults.append(Fault(str(path), 0, found, f"give one a name of its own: NAME={path}"))
        first.setdefault(name, path)
    return faults


def record_path(run_path: str | os.PathLike[str]) -> Path:
    """Where the record of a run is: beside it, with `.json` after its name."""
    return Path(f"{os.fspath(run_path)}.json")


def read_record(run_path: str | os.PathLike[str]) -> dict[str, Any]:
    """The record beside a run; empty where there is none, or none that can be read."""
    try:
        record = orjson.loads(record_path(run_path).read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _titles(record: dict[str, Any]) -> dict[int, str]:
    """Titles of the topics that are in no file, by the record of a run."""
    listed = record.get("subjects")
    subjects = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    found = ((subject.get("topic"), subject.get("title")) for subject in subjects)
    return {topic: title for topic, title in found if isinstance(topic, int) and isinstance(title, str)}


def write_record(record: dict[str, Any], run_path: str | os.PathLike[str]) -> None:
    """Write the record beside a run as an indented JSON file, complete or not at all."""
    write_json(record_path(run_path), record)
