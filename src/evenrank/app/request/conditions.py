"""What a list or search was made with, in words: the goal, the strength, and the limits of its question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from evenrank.app.articles.collection_view import USUAL, valid_restrictions
from evenrank.app.pages.i18n import Message, plain_number, thousands, translate
from evenrank.app.request.choices import goal_choices, policy_choices, strength_choices
from evenrank.core.groups import Dimension
from evenrank.policies.optimal import Optimal

if TYPE_CHECKING:
    from evenrank.app.request.question import Question


def conditions(question: Question, known: Mapping[str, Dimension]) -> list[tuple[str, str]]:
    """Headings and texts in the language in use; the usual groups, and limits that the question does not set, are left
    out."""
    found = [*_fairness(question, known), *_limits(question)]
    return [(translate(heading), text) for heading, text in found]


def _fairness(question: Question, known: Mapping[str, Dimension]) -> Iterator[tuple[str, str]]:
    """How the list is fair, and which groups it keeps to."""
    yield Message("Goal"), translate(goal_choices()[question.goal].label)
    if question.policy == Optimal.name:
        yield Message("Strength"), _strength(question)
    else:
        yield Message("How to rank"), translate(policy_choices()[question.policy].label)
    counted = [translate(known[name].heading) for name in question.dimensions if name in known]
    if counted and set(question.dimensions) != set(USUAL):
        yield Message("Groups that count"), _joined(counted)
    if question.within:
        yield Message("Only"), _joined(dict.fromkeys(_group(text, known) for text in question.within))


def _limits(question: Question) -> Iterator[tuple[str, str]]:
    """Which articles the question leaves out."""
    is_one = question.least == question.best
    yield Message("Classes"), question.least if is_one else _range(question.least, question.best)
    if question.min_size or question.max_size:
        yield Message("Size"), _range(_bytes(question.min_size), _bytes(question.max_size))
    if question.min_views or question.max_views:
        yield Message("Page views"), _range(_number(question.min_views), _number(question.max_views))
    if question.importance:
        yield Message("Importance"), _joined(question.importance)
    if question.length:
        yield Message("Most articles"), thousands(question.length)


def _strength(question: Question) -> str:
    if question.is_plain:
        return translate(Message("No fairness"))
    labels = {choice.value: choice.label for choice in strength_choices()}
    strength = question.fairness
    return translate(labels[strength]) if strength in labels else plain_number(strength)


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
