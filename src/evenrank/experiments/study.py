"""What a study consists of, read from TOML or plain data and checked: data, policies, tuning, measures, tests."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from evenrank.core.protocol import DEFAULT_PROTOCOL, PROTOCOLS
from evenrank.core.records import Task
from evenrank.core.types import FilePath
from evenrank.errors import Collected, EvenrankError, UnknownNameError, input_error, reason_of
from evenrank.experiments.data import PolicyChoice
from evenrank.experiments.search_space import policy_space
from evenrank.experiments.tune import METHODS, Method
from evenrank.io.group_targets import WORDS
from evenrank.measures.measure import Measure
from evenrank.measures.registry import Named, as_measure
from evenrank.policies.registry import PolicyEntry, find_policy, is_policy, make_policy
from evenrank.scoring.compare import TESTS
from evenrank.trec.generate.settings import ALL_GROUPS, GenerateSettings, world_settings

T = TypeVar("T")
WORD = r"[\w.-]+"
OF_STUDY = ("title", "seed", "tuning", "measures", "tests", "data", "policies")
OF_COLLECTION = ("protocol", "target", "model")
OF_WORLD = (
    *("world", "pages", "topics", "seeds", "train_relevant", "eval_relevant", "retrieval_bias", "noise", "unknown"),
    *OF_COLLECTION,
)
OF_FILES = ("items", "groups", "relevance")
OF_ITEMS = (*OF_FILES, "target", "k", "rankings", "expected", "train_share")
OF_POLICY = ("name", "label", "settings", "tune", "space", "tasks")


@dataclass(frozen=True)
class DataSpec:
    """One data set of a study."""

    name: str
    tasks: tuple[Task, ...]
    worlds: tuple[GenerateSettings, ...] = ()
    """Settings of generated collections whose topics are pooled, one for each seed."""
    collection: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Protocol, target and model of a collection."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `OwnData`."""


@dataclass(frozen=True)
class PolicySpec:
    """One policy of a study."""

    name: PolicyChoice
    label: str
    settings: Mapping[str, object]
    """Settings that stay as they are."""
    is_tuned: bool
    space: Mapping[str, object] | None
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Study:
    """Everything that decides the result of an experiment."""

    title: str
    data: tuple[DataSpec, ...]
    policies: tuple[PolicySpec, ...]
    seed: int = 0
    budget: int = 12
    """Combinations of settings that each tuned policy may try on all training queries, the same for all."""
    method: Method = "random"
    tuning_queries: int | None = None
    """At most so many training queries to tune on, drawn at random; None: all of them."""
    measures: Mapping[Task, tuple[Named, ...]] = field(default_factory=dict)
    """Measures by task; those of the data set where a task is missing."""
    test: str = "randomisation"
    level: float = 0.05
    given: Mapping[str, Any] = field(default_factory=dict)
    """The study as it was given, for the record."""

    def measure(self, name: str, task: Task) -> Measure:
        """The measure of a name, which may be an object of the study."""
        return as_measure(next((one for one in self.measures.get(task, ()) if str(one) == name), name), task)

    def record(self) -> Any:
        """The study as it was given, with a text for each object and for tables that were given as such."""
        return _plain(dict(self.given))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        tables = {key for key in OF_FILES if key in value and not isinstance(value[key], str | os.PathLike)}
        return {str(key): _kind(one) if key in tables else _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Measure) or is_policy(value):
        return str(getattr(value, "name", value))
    return str(value) if isinstance(value, os.PathLike) else _kind(value)


def _kind(value: object) -> str:
    return f"<{type(value).__name__}>"


def read_study(source: FilePath | Mapping[str, Any]) -> Study:
    """A study from a TOML file, or from a dict of the same, in which policies, measures and own data may be objects.

    Every fault comes in one error. Paths in a file are relative to the file.
    """
    if isinstance(source, Mapping):
        return _study(dict(source), Path())
    path = Path(source)
    try:
        content = path.read_bytes()
        table = tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise input_error(path, 0, f"could not be read: {reason_of(error)}", "name a TOML file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise input_error(path, 0, f"not TOML: {error}", "see the example in the documentation") from error
    return _study(table, path.parent, _Lines(path, content.decode("utf-8")))


class _Lines:
    """Where the tables of a TOML file are: which line a fault of one of them is about."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._tables: dict[tuple[str, int], list[tuple[int, str]]] = {("", 0): []}
        current, counts = ("", 0), dict[str, int]()
        for number, line in enumerate(text.splitlines(), start=1):
            heading = re.match(r"\s*\[\[?\s*([\w-]+)\s*\]", line)
            if heading is not None:
                name = heading[1]
                current = (name, counts.get(name, 0))
                counts[name] = current[1] + 1
                self._tables["", 0].append((number, name))
            self._tables.setdefault(current, []).append((number, line))

    def place(self, fault: str, table: str, at: int) -> str:
        """A fault after its file and line: the one whose key it names, else the likeliest, else the heading."""
        lines = self._tables.get((table, at)) or self._tables["", 0]
        words = set(re.findall(WORD, re.split(r"[;(]", fault)[0]))
        keyed = [number for number, line in lines if line.partition("=")[0].strip(" \"'") in words]
        shared = {number: len(words & set(re.findall(WORD, line.partition("=")[2]))) for number, line in lines[1:]}
        likeliest = sorted((n_words, number) for number, n_words in shared.items() if n_words)[-1:]
        number = [*keyed, *(number for _, number in likeliest), *(number for number, _ in lines if table), 0][0]
        return f"{self._path}:{number}: {fault}" if number else f"{self._path}: {fault}"


class _Faults(Collected):
    """Faults of a study, each with its place where the study is a file."""

    def __init__(self, lines: _Lines | None) -> None:
        super().__init__()
        self._lines = lines

    def add_of(self, faults: Iterable[str], table: str = "", at: int = 0) -> None:
        """Note faults of the `at`-th table of a name."""
        self.add(faults if self._lines is None else [self._lines.place(fault, table, at) for fault in faults])

    def check_of(self, function: Callable[[], T], table: str = "", at: int = 0) -> T | None:
        """What a function that reads such a table returns; None when it finds faults."""
        try:
            return function()
        except EvenrankError as error:
            self.add_of(str(error).splitlines(), table, at)
            return None


def _study(table: dict[str, Any], folder: Path, lines: _Lines | None = None) -> Study:
    faults = _Faults(lines)
    faults.add_of(_unknown("the study", table, OF_STUDY))
    tuning, tests = (_table(table, name, faults) for name in ("tuning", "tests"))
    faults.add_of(_unknown("tuning", tuning, ("budget", "method", "queries")), "tuning")
    faults.add_of(_unknown("tests", tests, ("test", "level")), "tests")
    checked = [
        faults.check_of(partial(_data, one, folder), "data", at) for at, one in enumerate(_list(table, "data", faults))
    ]
    data = [one for one in checked if one is not None]
    read = [
        faults.check_of(partial(_policy, one), "policies", at)
        for at, one in enumerate(_list(table, "policies", faults))
    ]
    policies = [one for one in read if one is not None]
    for kind, names in (("data", [d.name for d in data]), ("policies", [p.label for p in policies])):
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            faults.add_of([f"{kind} of the same name: {', '.join(repeated)} (policies may have a label)"])
    measures = faults.check_of(lambda: _measures(_table(table, "measures", faults)), "measures") or {}
    budget, method, level = tuning.get("budget", 12), tuning.get("method", "random"), tests.get("level", 0.05)
    tuning_queries = tuning.get("queries")
    title, test, seed = table.get("title", "Experiment"), tests.get("test", "randomisation"), table.get("seed", 0)
    checks = [
        ("tuning", type(budget) is int and budget >= 1, f"budget is {budget!r} (give a whole number of trials)"),
        (
            "tuning",
            tuning_queries is None or (type(tuning_queries) is int and tuning_queries >= 1),
            f"tuning: queries is {tuning_queries!r} (give a whole number of queries, at least 1)",
        ),
        ("tuning", method in METHODS, str(UnknownNameError("method", method, METHODS))),
        ("tests", test in TESTS, str(UnknownNameError("test", test, TESTS))),
        (
            "tests",
            isinstance(level, float) and 0.0 < level < 1.0,
            f"level is {level!r} (give a number between 0 and 1)",
        ),
        ("", type(seed) is int, f"seed is {seed!r} (give a whole number)"),
        ("", isinstance(title, str), f"title is {title!r} (give a text)"),
    ]
    for name, good, message in checks:
        faults.add_of([] if good else [message], name)
    faults.raise_any()
    return Study(
        title=title,
        data=tuple(data),
        policies=tuple(policies),
        seed=seed,
        budget=budget,
        method=cast(Method, method),
        tuning_queries=tuning_queries,
        measures=measures,
        test=test,
        level=level,
        given=table,
    )


def _unknown(where: str, table: Mapping[str, Any], known: Iterable[str]) -> list[str]:
    return [f"{where}: {UnknownNameError('key', name, known)}" for name in table if name not in known]


def _table(table: Mapping[str, Any], name: str, faults: _Faults) -> dict[str, Any]:
    found = table.get(name, {})
    if not isinstance(found, Mapping):
        faults.add_of([f"{name} is {found!r} (write a table: [{name}])"])
        return {}
    return dict(found)


def _list(table: Mapping[str, Any], name: str, faults: _Faults) -> list[dict[str, Any]]:
    found = table.get(name, [])
    if not isinstance(found, list) or not found or not all(isinstance(one, Mapping) for one in found):
        faults.add_of([f"no {name} (write at least one table [[{name}]])"])
        return []
    return [dict(one) for one in found]


def _measures(table: Mapping[str, Any]) -> dict[Task, tuple[Named, ...]]:
    """Measures by task, from the keys task1 and task2."""
    faults = Collected()
    faults.add(_unknown("measures", table, ("task1", "task2")))
    tasks: tuple[Task, ...] = (1, 2)
    found: dict[Task, tuple[Named, ...]] = {}
    for task in tasks:
        names = table.get(f"task{task}", [])
        if isinstance(names, list) and all(isinstance(name, str | Measure) for name in names):
            for name in names:
                faults.check(partial(as_measure, name, task))
            if names:
                found[task] = tuple(names)
        else:
            faults.add([f"measures: task{task} is {names!r} (give a list of names)"])
    faults.raise_any()
    return found


def _tasks(given: object, usual: tuple[Task, ...], where: str) -> tuple[Task, ...]:
    tasks = given if isinstance(given, list) else usual if given is None else [given]
    if not tasks or not all(task in (1, 2) and type(task) is int for task in tasks):
        raise EvenrankError(f"{where}: tasks are {given!r} (give 1, 2, or both in a list)")
    return tuple(sorted({cast(Task, task) for task in tasks}))


def _data(table: dict[str, Any], folder: Path) -> DataSpec:
    """A data set: a generated world, a collection, or own data."""
    kinds = [kind for kind in ("world", "collection", "items") if kind in table]
    name = str(table.pop("name", "") or (table.get(kinds[0]) if kinds else ""))
    where = f"data {name}"
    if len(kinds) != 1:
        raise EvenrankError(f"{where or 'data'}: give one of world, collection and items")
    faults = Collected()
    tasks = faults.check(lambda: _tasks(table.pop("tasks", None), (1,), where)) or (1,)
    known = {"world": OF_WORLD, "collection": ("collection", *OF_COLLECTION), "items": OF_ITEMS}[kinds[0]]
    faults.add(_unknown(where, table, (*known, "name", "tasks")))
    options = {key: str(table[key]) for key in OF_COLLECTION if key in table}
    if (protocol := options.get("protocol", DEFAULT_PROTOCOL)) not in PROTOCOLS:
        faults.add([f"{where}: {UnknownNameError('protocol', protocol, PROTOCOLS)}"])
    worlds = faults.check(lambda: _worlds(table, where)) if kinds == ["world"] else ()
    if kinds == ["collection"] and not (folder / table["collection"]).is_dir():
        faults.add([f"{where}: collection: no such folder: {folder / table['collection']}"])
    own = faults.check(lambda: _own(table, tasks, folder, where)) if kinds == ["items"] else {}
    faults.raise_any()
    place = folder / table["collection"] if kinds == ["collection"] else None
    return DataSpec(name, tasks, worlds or (), place, {} if kinds == ["items"] else options, own or {})


def _worlds(table: Mapping[str, Any], where: str) -> tuple[GenerateSettings, ...]:
    """The settings of a world for each of its seeds."""
    world = {key: table[key] for key in ("train_relevant", "eval_relevant", "noise") if key in table}
    bias, unknown = table.get("retrieval_bias", {}), table.get("unknown", {})
    unknown = {ALL_GROUPS: unknown} if isinstance(unknown, (int, float)) else unknown
    seeds = table.get("seeds", [0])
    numbers = [*world.values(), table.get("pages", 1), table.get("topics", 1)]
    if not (isinstance(seeds, list) and seeds and all(type(one) is int for one in seeds)):
        raise EvenrankError(f"{where}: seeds are {seeds!r} (give a list of whole numbers)")
    for values in (bias, unknown):
        numbers += values.values() if isinstance(values, Mapping) else [None]
    if not all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in numbers):
        raise EvenrankError(f"{where}: a value is no number (retrieval_bias and unknown are tables of them)")
    world |= {"retrieval_bias": tuple(bias.items())} if bias else {}
    world |= {"unknown": tuple(unknown.items())} if unknown else {}
    size = {"n_pages": table.get("pages", 20_000), "n_topics": table.get("topics", 48)}
    try:
        return tuple(world_settings(table["world"], **size, seed=seed, **world) for seed in seeds)
    except EvenrankError as error:
        raise EvenrankError(f"{where}: {error}") from error


def _own(table: Mapping[str, Any], tasks: tuple[Task, ...], folder: Path, where: str) -> dict[str, Any]:
    """Arguments of `OwnData`; files are relative to the study's folder, and anything else is the data themselves."""
    faults = Collected()
    if missing := [key for key in ("groups", "relevance") if key not in table]:
        faults.add([f"{where}: no {' and no '.join(missing)} (give the files)"])
    given = {key: table[key] for key in OF_FILES if key in table}
    files = {key: folder / one for key, one in given.items() if isinstance(one, str | os.PathLike)}
    faults.add(f"{where}: {key}: no such file: {path}" for key, path in files.items() if not path.is_file())
    target, k, share = table.get("target"), table.get("k", 1), table.get("train_share", 0.5)
    n_rankings, expected = table.get("rankings", 1), table.get("expected", "score")
    if isinstance(target, str) and target not in WORDS:
        target = folder / target
        if not target.is_file():
            faults.add([f"{where}: target: no such file: {target} (or give {', '.join(WORDS)})"])
    counts = {"k": k, "rankings": n_rankings}
    wrong = {name: value for name, value in counts.items() if type(value) is not int or value < 1}
    faults.add(f"{where}: {name} is {value!r} (give a whole number, at least 1)" for name, value in wrong.items())
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 <= share <= 1.0:
        faults.add([f"{where}: train_share is {share!r} (give a share of the queries, from 0 to 1)"])
    if expected not in ("score", "rank"):
        faults.add([f"{where}: {UnknownNameError('expected', expected, ('score', 'rank'))}"])
    if not wrong and tasks != ((1,) if n_rankings == 1 else (2,)):
        faults.add([f"{where}: task 1 is one ranking of each query, task 2 several (set tasks and rankings)"])
    faults.raise_any()
    others = {key: table[key] for key in ("k", "expected", "train_share") if key in table}
    return {**given, **files, "target": target, "n_rankings": n_rankings, **others}


def _entry(given: Any) -> PolicyEntry:
    if not given:
        raise EvenrankError("a policy without a name (see evenrank policies)")
    return given if is_policy(given) else find_policy(str(given))


def _policy(table: dict[str, Any]) -> PolicySpec:
    given = table.get("name", "")
    faults = Collected()
    faults.add(_unknown(f"policy {getattr(given, 'name', given)}".strip(), table, OF_POLICY))
    found = faults.check(partial(_entry, given))
    if found is None:
        faults.raise_any()
    entry = cast(PolicyEntry, found)
    where = f"policy {entry.name}"
    name = given if is_policy(given) else entry.name
    tasks = faults.check(lambda: _tasks(table.get("tasks"), tuple(entry.tasks), where)) or (1,)
    settings, space = table.get("settings", {}), table.get("space")
    if not isinstance(settings, Mapping) or not isinstance(space, Mapping | None):
        raise EvenrankError(f"{where}: settings and space are tables")
    for task in tasks:
        faults.check(partial(make_policy, name, task, settings))
    faults.check(lambda: policy_space(name, space))
    is_tuned = table.get("tune", False)
    if not isinstance(is_tuned, bool):
        faults.add([f"{where}: tune is {is_tuned!r} (give true or false)"])
    faults.raise_any()
    label = str(table.get("label", f"{entry.name} (tuned)" if is_tuned else entry.name))
    return PolicySpec(name, label, dict(settings), is_tuned, space, tasks)
