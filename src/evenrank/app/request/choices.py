"""What the forms offer and explain (`choices.toml`), and what a list or search was made with, in the same words."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from evenrank.app.articles.collection_view import USUAL, valid_restrictions
from evenrank.app.pages.i18n import Message, plain_number, thousands, translate
from evenrank.core.groups import Dimension
from evenrank.policies.optimal import Optimal

if TYPE_CHECKING:
    from evenrank.app.request.question import Question

TABLE = "table:"
"""How the text of an attention model with weights for each rank begins."""


@dataclass(frozen=True)
class Choice:
    """A value of a field of the form as a coordinator sees it."""

    name: str
    """What the form and the JSON interface call it: a policy, a goal, an attention model, a weight of fairness."""
    label: str
    explanation: str


@cache
def choices_of(kind: Literal["policy", "goal", "attention", "strength", "match"]) -> dict[str, Choice]:
    """The choices of a kind by name, the default first; strengths are ordered from the lightest."""
    table = tomllib.loads(files("evenrank.app.request").joinpath("choices.toml").read_text("utf-8"))
    return {entry["name"]: Choice(**entry) for entry in table[kind]}


def describe_attention(text: str) -> str:
    """An attention model in words."""
    known = choices_of("attention").get(text)
    if known is not None:
        return known.label
    if text.startswith(TABLE):
        return Message("own weights for %(n)s ranks", n=text.count(",") + 1)
    return text


def conditions(question: Question, known: Mapping[str, Dimension]) -> list[tuple[str, str]]:
    """Headings and texts in the language in use; the usual groups, and limits that the question does not set, are left
    out."""
    found = [*_fairness(question, known), *_limits(question)]
    return [(translate(heading), text) for heading, text in found]


def _fairness(question: Question, known: Mapping[str, Dimension]) -> Iterator[tuple[str, str]]:
    """How the list is fair, and which groups it keeps to."""
    yield Message("Goal"), translate(choices_of("goal")[question.goal].label)
    if question.policy == Optimal.name:
        yield Message("Strength"), _strength(question)
    else:
        yield Message("How to rank"), translate(choices_of("policy")[question.policy].label)
    counted = [translate(known[name].heading) for name in question.dimensions if name in known]
    if counted and set(question.dimensions) != set(USUAL):
        yield Message("Groups that count"), _joined(counted)
    if question.within:
        yield Message("Only"), _joined(dict.fromkeys(_group(text, known) for text in question.within))


def _limits(question: Question) -> Iterator[tuple[str, str]]:
    """Which articles the question leaves out, and how many it says are on the subject."""
    if question.match != next(iter(choices_of("match"))):
        yield Message("Articles"), translate(choices_of("match")[question.match].label)
    is_one = question.min_class == question.max_class
    yield Message("Classes"), question.min_class if is_one else _range(question.min_class, question.max_class)
    if question.min_size or question.max_size:
        yield Message("Size"), _range(_bytes(question.min_size), _bytes(question.max_size))
    if question.min_views or question.max_views:
        yield Message("Page views"), _range(_number(question.min_views), _number(question.max_views))
    if question.importance:
        yield Message("Importance"), _joined(question.importance)
    if question.length:
        yield Message("Maximum number of articles"), thousands(question.length)
    if question.n_relevant:
        about = Message("about %(n)s", n=thousands(question.n_relevant))
        yield Message("Articles on the subject"), translate(about)


def _strength(question: Question) -> str:
    if question.is_plain:
        return translate(Message("No fairness"))
    known = choices_of("strength").get(f"{question.fairness:g}")
    return translate(known.label) if known else plain_number(question.fairness)


def _group(restriction: str, known: Mapping[str, Dimension]) -> str:
    """A restriction in words; of a dimension that describes people, never the group."""
    name, _, group = (part.strip() for part in restriction.partition("="))
    if not valid_restrictions([restriction], known):
        return translate(Message("%(group)s (no longer among the groups here, so not applied)", group=group))
    dimension = known[name]
    if dimension.is_personal:
        return translate(Message("Biographies"))
    if group.casefold() == "known":
        return translate(Message("%(dimension)s known", dimension=translate(dimension.heading)))
    return translate(dimension.readable_groups[dimension.mask_of(group).bit_length() - 1])


def _joined(texts: Iterable[str]) -> str:
    return translate(Message(", ")).join(texts)


def _range(least: str, most: str) -> str:
    """Two limits in words, of which one may be empty."""
    if least and most:
        return translate(Message("%(least)s to %(most)s", least=least, most=most))
    return translate(Message("at least %(n)s", n=least) if least else Message("at most %(n)s", n=most))


def _bytes(size: int) -> str:
    return translate(Message("%(n)s\u00a0B", n=size)) if size else ""


def _number(number: int) -> str:
    return thousands(number) if number else ""
