"""An example for the start page: what a fair list of one of the collection's topics changes against plain search."""

from __future__ import annotations

from dataclasses import dataclass

from evenrank.errors import EvenrankError
from evenrank.web.desk import Desk
from evenrank.web.fairness.comparison import changes
from evenrank.web.lists.work_list import make_list
from evenrank.web.request.question import Question, QuestionError

N_GROUPS = 5
"""Groups that the example shows."""
WELL_KNOWN = ("chess", "nigeria")
"""Topics that everybody can judge, if the collection has them."""
MAX_TRIED = 3
"""Topics that are tried before there is no example."""


@dataclass(frozen=True)
class ExampleRow:
    """One group: its share of the attention in plain search and in the list, and the goal."""

    label: str
    plain: float
    listed: float
    goal: float


@dataclass(frozen=True)
class Example:
    """A question, and what a list of it changes."""

    title: str
    keywords: str
    rows: tuple[ExampleRow, ...]

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the form that make this list."""
        return {"title": self.title, "keywords": self.keywords}


def make_example(desk: Desk) -> Example | None:
    """The example of a collection; None when it has no topic with keywords that finds anything."""
    topics = [topic for topic in desk.collection.topics if topic.keywords]
    chosen = sorted(topics, key=lambda topic: topic.title.casefold() not in WELL_KNOWN)
    for topic in chosen[:MAX_TRIED]:
        question = Question(topic.title, topic.keywords[:12])
        try:
            made = make_list(desk, question)
        except (QuestionError, EvenrankError):
            continue
        assert made.comparison is not None
        space = desk.space(made)
        found = changes(
            desk.collection, made.comparison, made.page_ids, made.target, space, made.question.attention_model
        )
        rows = [ExampleRow(change.label, change.before, change.after, change.goal) for change in found[:N_GROUPS]]
        return Example(topic.title, ", ".join(question.keywords), tuple(rows))
    return None
