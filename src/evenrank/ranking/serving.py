"""What serving a protocol means for a ranking job: what its scorer looks at becomes settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from evenrank.alignment.dimensions import DIMENSIONS
from evenrank.errors import UnknownNameError
from evenrank.policies.policy import Policy, Request
from evenrank.protocol import PROTOCOLS, Protocol
from evenrank.records import Task

DEFAULT_PROTOCOL = "paper-2021"
"""What `rank` serves and `evaluate` scores with, unless set otherwise."""


def choose_protocol(protocol: str | Protocol) -> Protocol:
    """A protocol by name."""
    if isinstance(protocol, Protocol):
        return protocol
    if protocol not in PROTOCOLS:
        raise UnknownNameError("protocol", protocol, PROTOCOLS)
    return PROTOCOLS[protocol]


def request_of(protocol: Protocol, task: Task) -> Request:
    """The size of a valid run."""
    return Request(task, protocol.n_rankings(task), protocol.length(task))


def candidate_settings(protocol: Protocol, dimensions: Iterable[str] = tuple(DIMENSIONS)) -> dict[str, object]:
    """Settings of the candidates (`BuildSettings`) that count pages as the protocol does."""
    return {
        "divided": tuple(name for name in dimensions if protocol.normalises(name)),
        "keep_unknown": protocol.keeps_unknown_task1,
    }


def policy_settings(protocol: Protocol, task: Task, policy: type[Policy]) -> dict[str, object]:
    """Settings of a policy that serve the protocol's scorer, as far as the policy has them.

    A scorer that looks at the whole ranking leaves the policy its mixture over depths; one with a cut of its own is
    served at that cut, and the rest of the ranking is made to follow from there.
    """
    depth, length = protocol.depth(task), protocol.length(task)
    wanted: dict[str, object] = {"log_base": protocol.log_base}
    if task == 1 and depth < length:
        wanted |= {"depths": (depth,), "depth_weights": (1.0,)}
    if task == 2:
        wanted["relevant_only"] = protocol.relevant_exposure
        if depth < length:
            wanted["head_depth"] = depth
    names = {field.name for field in fields(policy)}  # type: ignore[arg-type]
    return {name: value for name, value in wanted.items() if name in names}
