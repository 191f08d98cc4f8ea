"""The policy `optimal`: optimises the track's measures themselves, and proves how near it came."""

from evenrank.policies.optimal.list import OptimalList
from evenrank.policies.optimal.policy import Optimal
from evenrank.policies.optimal.sequence import OptimalSequence

__all__ = ["Optimal", "OptimalList", "OptimalSequence"]
