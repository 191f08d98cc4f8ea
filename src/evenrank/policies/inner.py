"""Settings that name other policies, as `filter`, `union`, `best-of`, `fusion` and `inferred` have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from evenrank.core.allowed import limits_of
from evenrank.errors import EvenrankError
from evenrank.policies.policy import Policy


@dataclass(frozen=True)
class NamesPolicies:
    """A text, or several of them, each a policy as `make_policy` reads it."""

    def __str__(self) -> str:
        return ""

    def faults(self, name: str, value: str | tuple[str, ...]) -> Iterator[str]:
        from evenrank.policies.registry import make_policy

        if not value:
            yield f"{name} is empty, but must name a policy"
        for text in _texts(value):
            try:
                make_policy(text)
            except EvenrankError as error:
                yield from (f"{name}: {line}" for line in str(error).splitlines())


InnerPolicy = Annotated[str, NamesPolicies()]
InnerPolicies = Annotated[tuple[str, ...], NamesPolicies()]


def inner_policies(policy: Policy) -> dict[str, tuple[str, ...]]:
    """The policies that a policy runs, as texts, by the setting that names them."""
    return {
        name: _texts(getattr(policy, name))
        for name, limits in limits_of(type(policy)).items()
        if any(isinstance(limit, NamesPolicies) for limit in limits)
    }


def _texts(value: str | tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(value)
