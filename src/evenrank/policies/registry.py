"""The visible list of policies. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, TypeGuard

from evenrank.core.records import Task
from evenrank.core.settings import Settings, describe_settings, make_settings, setting_texts
from evenrank.errors import Collected, EvenrankError, UnknownNameError, WrongTypeError
from evenrank.plugins import Registry, check_takes
from evenrank.policies.deficit import Deficit, Swap
from evenrank.policies.diversification import Proportional, RelevanceShare
from evenrank.policies.expected_exposure import Expohedron, FrankWolfe, PLRank
from evenrank.policies.exposure_disparity import ExposureDisparity
from evenrank.policies.exposure_lp import ExposureLP
from evenrank.policies.greedy import Greedy
from evenrank.policies.mixtures import BestOf, Filter, Fusion, Inferred, Union, inner_policies
from evenrank.policies.optimal import Optimal
from evenrank.policies.policy import Policy, PolicyByTask, parse_policy
from evenrank.policies.relevance import MMR, EpsilonGreedy, Relevance
from evenrank.policies.rerankers import DetConstSort, FaIr
from evenrank.policies.sequences import Controller, PlackettLuce

_ALL: tuple[type[Policy], ...] = (
    Relevance,
    MMR,
    Proportional,
    RelevanceShare,
    ExposureDisparity,
    Deficit,
    Swap,
    Filter,
    Union,
    BestOf,
    FaIr,
    DetConstSort,
    EpsilonGreedy,
    Greedy,
    Controller,
    PlackettLuce,
    ExposureLP,
    FrankWolfe,
    Expohedron,
    PLRank,
    Fusion,
    Inferred,
    Optimal,
)
PolicyEntry = type[Policy] | Policy
"""A policy class, whose fields are its settings, or a policy object that is ready to rank."""
DEFAULT_POLICY = Optimal.name
"""The policy of `rank` and `rerank` unless another one is asked for."""


def _adopt(offered: object) -> tuple[str, PolicyEntry]:
    """The name and the policy that a plug-in offers."""
    if not is_policy(offered):
        raise TypeError(f"not a policy, but {type(offered).__name__} (decorate a function with evenrank.policy)")
    if (function := getattr(offered, "function", None)) is not None:
        check_takes(function, "candidates", "target", "request", "rng")
    return offered.name, offered


def is_policy(value: object) -> TypeGuard[PolicyEntry]:
    """Whether something is a policy: a class or an object with a name, the tasks that it serves and `rank`."""
    return all(hasattr(value, name) for name in ("name", "tasks", "rank"))


POLICIES: Registry[PolicyEntry] = Registry("policies", {policy.name: policy for policy in _ALL}, _adopt)
"""Policies by name, those of plug-ins included."""


def find_policy(name: str, task: Task | None = None) -> PolicyEntry:
    """The policy of that name; an error when there is none, or when it does not serve the task."""
    if name not in POLICIES:
        raise UnknownNameError("policy", name, POLICIES)
    _check_task(POLICIES[name], task)
    return POLICIES[name]


def _check_task(entry: PolicyEntry, task: Task | None) -> None:
    if task is not None and task not in entry.tasks:
        serving = ", ".join(other for other, policy in POLICIES.items() if task in policy.tasks)
        raise EvenrankError(f"policy {entry.name} does not serve Task {task}; these do: {serving}")


def make_policy(
    policy: str | PolicyEntry,
    task: Task | None = None,
    settings: Settings | None = None,
    *,
    served: Mapping[str, object] | None = None,
    other_settings: Iterable[str] = (),
) -> Policy:
    """The policy to rank with: from a name, from `name:setting=value,setting=value`, from a class, or an object as is.

    `settings` are those of the policy by name, as `--set` gives them. Where they say nothing, `served` takes the place
    of a default, for settings that the policy has: what the scorer to be served looks at. All faults are reported at
    once; `other_settings` are names that the message on an unknown setting lists beside the policy's own.
    """
    texts = setting_texts(settings or {})
    if isinstance(policy, str):
        name, own = parse_policy(policy)
        texts = {**own, **texts}
        policy = find_policy(name)
    elif not is_policy(policy):
        raise WrongTypeError(policy, "policy", "the name of a policy or a policy object")
    faults = Collected()
    entry = policy
    faults.check(lambda: _check_task(entry, task))
    made = faults.check(lambda: _with_settings(entry, task, texts, served or {}, other_settings))
    if made is not None and task is not None:
        faults.add(task_faults(made, task))
    faults.raise_any()
    assert made is not None
    return made


def setting_owners(entry: PolicyEntry, task: Task | None = None) -> list[type[Policy]]:
    """The classes whose fields are the settings of a policy: of the task, or of every task."""
    if isinstance(entry, type) and issubclass(entry, PolicyByTask):
        return [owner for of_task, owner in entry.of_task.items() if task in (None, of_task)]
    return [entry] if isinstance(entry, type) and is_dataclass(entry) else []


def setting_names(policy: str | PolicyEntry, task: Task | None = None) -> frozenset[str]:
    """Names of the settings that a policy takes, in any task or in one; none for an unknown name or an object."""
    entry = POLICIES.get(parse_policy(policy)[0]) if isinstance(policy, str) else policy
    owners = [] if entry is None else setting_owners(entry, task)
    return frozenset(field.name for owner in owners for field in fields(owner))  # type: ignore[arg-type]


def idle_settings(policy: str | PolicyEntry, task: Task, names: Iterable[str]) -> dict[str, str]:
    """Those of the settings that are accepted and do nothing in a task, and why."""
    entry = POLICIES.get(parse_policy(policy)[0]) if isinstance(policy, str) else policy
    former, own, known = getattr(entry, "former_settings", {}), setting_names(policy, task), setting_names(policy)
    elsewhere = {name: f"it is not a setting of Task {task}" for name in names if name in known - own}
    return {**{name: former[name] for name in names if name in former}, **elsewhere}


def _with_settings(
    entry: PolicyEntry,
    task: Task | None,
    texts: Mapping[str, str],
    served: Mapping[str, object],
    other_settings: Iterable[str],
) -> Policy:
    if not isinstance(entry, type):
        if texts:
            raise EvenrankError(f"settings of a policy object cannot be set again: {', '.join(texts)}")
        return entry if task is None or not isinstance(entry, PolicyByTask) else entry.for_task(task)
    faults, names = Collected(), setting_names(entry)
    accepted = names | set(getattr(entry, "former_settings", ()))
    choices = [*sorted(names), *sorted(set(other_settings) - names)]
    faults.add(str(UnknownNameError("setting", name, choices)) for name in texts if name not in accepted)
    parts = [faults.check(partial(_make, owner, texts, served)) for owner in setting_owners(entry, task)]
    faults.raise_any()
    if len(parts) == 1 and parts[0] is not None:
        return parts[0]
    return entry(**{name: getattr(part, name) for part in parts for name in texts if hasattr(part, name)})


def _make(owner: type[Policy], texts: Mapping[str, str], served: Mapping[str, object]) -> Policy:
    """A policy with those of the settings that it has."""
    names = setting_names(owner)
    own = {name: text for name, text in texts.items() if name in names}
    return make_settings(owner, own, {name: value for name, value in served.items() if name in names})


def task_faults(policy: Policy, task: Task) -> Iterator[str]:
    """Policies that the settings of a policy name and that do not serve the task."""
    for name, texts in inner_policies(policy).items():
        for text in texts:
            try:
                yield from task_faults(make_policy(text, task), task)
            except EvenrankError as error:
                yield f"{policy.name}: {name}: {error}"


def describe_policy(owner: PolicyEntry) -> dict[str, Any]:
    """The facts of a policy as plain data, for lists and documentation."""
    settings = [(of_task, setting) for of_task in setting_owners(owner) for setting in describe_settings(of_task)]
    return {
        "name": owner.name,
        "tasks": list(owner.tasks),
        "summary": (owner.__doc__ or "").strip().splitlines()[0],
        "settings": [
            {
                "name": setting.name,
                "tasks": list(of_task.tasks),
                "default": setting.default,
                "choices": list(setting.choices),
                "allowed": setting.allowed,
                "explanation": setting.explanation,
            }
            for of_task, setting in settings
        ],
        "paper_runs": list(getattr(owner, "paper_runs", ())),
        "run_settings": dict(getattr(owner, "run_settings", {})),
        "near_runs": list(getattr(owner, "near_runs", ())),
        "near_because": str(getattr(owner, "near_because", "")),
        "reconstructed": bool(getattr(owner, "paper_runs", ())),
        "citation": str(getattr(owner, "citation", "")),
    }
