"""The visible list of policies. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evenrank.core.records import Task
from evenrank.core.settings import describe_settings, make_settings
from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.policies.best_of import BestOf
from evenrank.policies.controller import Controller
from evenrank.policies.deficit import Deficit
from evenrank.policies.det_const_sort import DetConstSort
from evenrank.policies.epsilon_greedy import EpsilonGreedy
from evenrank.policies.exposure_disparity import ExposureDisparity
from evenrank.policies.exposure_lp import ExposureLP
from evenrank.policies.fa_ir import FaIr
from evenrank.policies.filter import Filter
from evenrank.policies.fusion import Fusion
from evenrank.policies.greedy_measure import Greedy
from evenrank.policies.inferred import Inferred
from evenrank.policies.inner import inner_policies
from evenrank.policies.mmr import MMR
from evenrank.policies.optimal import Optimal
from evenrank.policies.plackett_luce import PlackettLuce
from evenrank.policies.policy import Policy
from evenrank.policies.proportional import Proportional
from evenrank.policies.relevance import Relevance
from evenrank.policies.relevance_share import RelevanceShare
from evenrank.policies.swap import Swap
from evenrank.policies.union import Union

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
    Fusion,
    Inferred,
    Optimal,
)
POLICIES: dict[str, type[Policy]] = {policy.name: policy for policy in _ALL}


def policy_class(name: str, task: Task | None = None) -> type[Policy]:
    """The policy of that name; an error when there is none, or when it does not serve the task."""
    if name not in POLICIES:
        raise UnknownNameError("policy", name, POLICIES)
    if task is not None and task not in POLICIES[name].tasks:
        serving = ", ".join(other for other, policy in POLICIES.items() if task in policy.tasks)
        raise EvenrankError(f"policy {name} does not serve Task {task}; these do: {serving}")
    return POLICIES[name]


def make_policy(text: str, task: Task | None = None) -> Policy:
    """A policy from `name` or `name:setting=value,setting=value`."""
    name, _, rest = text.partition(":")
    owner = policy_class(name.strip(), task)
    pairs = [pair.partition("=") for pair in rest.split(",") if pair.strip()]
    return make_settings(owner, {key.strip(): value.strip() for key, _, value in pairs})


def task_faults(policy: Policy, task: Task) -> Iterator[str]:
    """Policies that a policy is told to run and that do not serve the task."""
    for name, texts in inner_policies(policy).items():
        for text in texts:
            try:
                yield from task_faults(make_policy(text, task), task)
            except EvenrankError as error:
                yield f"{policy.name}: {name}: {error}"


def describe_policy(owner: type[Policy]) -> dict[str, Any]:
    """The facts of a policy as plain data, for lists and documentation."""
    return {
        "name": owner.name,
        "tasks": list(owner.tasks),
        "summary": (owner.__doc__ or "").strip().splitlines()[0],
        "settings": [
            {
                "name": setting.name,
                "default": setting.default,
                "choices": list(setting.choices),
                "allowed": setting.allowed,
                "explanation": setting.explanation,
            }
            for setting in describe_settings(owner)
        ],
        "paper_runs": list(owner.paper_runs),
        "run_settings": dict(getattr(owner, "run_settings", {})),
        "near_runs": list(getattr(owner, "near_runs", ())),
        "near_because": str(getattr(owner, "near_because", "")),
        "reconstructed": bool(getattr(owner, "reconstructed", False)),
        "citation": owner.citation,
    }
