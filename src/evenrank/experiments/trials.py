"""Trials: one policy with its settings on some queries, scored once, kept by content, several at a time."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from evenrank.errors import EvenrankError
from evenrank.experiments.data import PolicyChoice, Scores, StudyData, checksum, policy_name
from evenrank.io.atomic import atomic_file
from evenrank.measures.registry import Named, as_measure
from evenrank.parallel import map_batches
from evenrank.policies.policy import settings_of
from evenrank.policies.registry import find_policy
from evenrank.progress import track

TRIALS = "trials"
"""Folder of finished trials."""


@dataclass(frozen=True)
class Trial:
    """What is to be scored; equal content gives equal scores."""

    data: StudyData = field(repr=False)
    policy: PolicyChoice
    settings: tuple[tuple[str, str], ...]
    """Settings that differ from the policy's defaults, as text."""
    queries: tuple[str, ...]
    measures: tuple[Named, ...]
    seed: int = 0

    @cached_property
    def key(self) -> str:
        """Checksum of everything that decides the scores: the version of this package, and the code of others."""
        return checksum(
            self.data.fingerprint(),
            policy_name(self.policy),
            {} if isinstance(self.policy, str) else settings_of(self.policy),
            sorted(self.settings),
            self.queries,
            sorted(map(str, self.measures)),
            self.seed,
            version("evenrank"),
            *filter(None, map(_foreign_code, self._functions())),
        )

    def _functions(self) -> Iterator[Any]:
        """What computes: the function or class of the policy and of each measure."""
        policy = self.policy
        if isinstance(policy, str):
            policy = find_policy(policy.partition(":")[0].strip())
        yield getattr(policy, "function", None) or (policy if isinstance(policy, type) else type(policy))
        for measure in self.measures:
            yield inspect.unwrap(as_measure(measure, self.data.task).compute)


def _foreign_code(function: Any) -> str:
    """A checksum of the code of a plug-in or an object, which may change between two calls; empty for ours.

    It is that of all modules of its package, of its file, or, where it has none, of its own source.
    """
    name = str(getattr(function, "__module__", "builtins"))
    top = name.partition(".")[0]
    if top in ("evenrank", "builtins"):
        return ""
    module = sys.modules.get(top)
    if found := getattr(module, "__file__", None):
        file = Path(found)
        files = sorted(file.parent.rglob("*.py")) if hasattr(module, "__path__") else [file]
        if all(one.is_file() for one in files):
            return _checksum_of(tuple((one, one.stat().st_mtime_ns) for one in files))
    return checksum(_source(function))


@lru_cache(maxsize=64)
def _checksum_of(files: tuple[tuple[Path, int], ...]) -> str:
    """Of the content of files, each with its time, as they may change."""
    return checksum([[file.name, file.read_bytes().hex()] for file, _ in files])


def _source(function: Any) -> str:
    """Of what was defined in a notebook or a console; its compiled form where the source is not kept."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return repr(function) if code is None else repr((code.co_code, code.co_names, code.co_consts))


@dataclass(frozen=True)
class TrialScores:
    """The scores of a trial, or why there are none."""

    scores: Scores
    error: str = ""

    def mean(self, measures: Sequence[Named]) -> float:
        """The mean over queries, then over the measures; NaN when the trial failed."""
        values = [] if self.error else [list(self.scores[str(measure)].values()) for measure in measures]
        return float(np.mean([np.mean(one) for one in values])) if values and all(values) else float("nan")


def run_trials(
    trials: Sequence[Trial], folder: Path | None = None, workers: int | None = None, label: str = "trials"
) -> list[TrialScores]:
    """The scores of all trials, in their order; those that the folder has are not computed again.

    Each is kept as soon as it is finished, so that an interrupted call resumes where it stopped.
    """
    known = {trial.key: read for trial in trials if (read := _read(folder, trial)) is not None}
    missing = list({trial.key: trial for trial in trials if trial.key not in known}.values())
    is_installed = all(isinstance(one, str) for trial in missing for one in (trial.policy, *trial.measures))
    n_workers = min(workers or 1, len(missing)) if is_installed else 1  # other processes find things by their names
    finished: Iterator[TrialScores] = map_batches(run_trial, missing, n_workers)
    for trial, found in zip(missing, track(finished, label, len(missing), "trial"), strict=True):
        known[trial.key] = found
        if folder is not None and not found.error:  # what failed for want of an index, say, is tried again
            _write(folder, trial, found)
    return [known[trial.key] for trial in trials]


def run_trial(trial: Trial) -> TrialScores:
    """One trial; a policy that refuses its settings or its data, or whose code fails, fails it, for a stated reason."""
    try:
        return TrialScores(
            trial.data.score(trial.policy, dict(trial.settings), trial.queries, trial.measures, trial.seed)
        )
    except EvenrankError as error:
        return TrialScores({}, str(error))
    except Exception as error:  # of a plug-in; the other trials are none the worse for it
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return TrialScores({}, f"{text} ({Path(place.filename).name}, line {place.lineno})")


def _path(folder: Path, trial: Trial) -> Path:
    return folder / TRIALS / trial.key[:2] / f"{trial.key}.json"


def _read(folder: Path | None, trial: Trial) -> TrialScores | None:
    """What is kept of a trial; None when it is missing or damaged, as both are made again."""
    if folder is None:
        return None
    try:
        record = orjson.loads(_path(folder, trial).read_bytes())
        return TrialScores(record["scores"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(folder: Path, trial: Trial, found: TrialScores) -> None:
    path = _path(folder, trial)
    path.parent.mkdir(parents=True, exist_ok=True)
    record: dict[str, Any] = {
        "data": trial.data.name,
        "policy": policy_name(trial.policy),
        "settings": dict(trial.settings),
        "n_queries": len(trial.queries),
        "seed": trial.seed,
        "scores": found.scores,
    }
    with atomic_file(path) as file:
        file.write(orjson.dumps(record))
