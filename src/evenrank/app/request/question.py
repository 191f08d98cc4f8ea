"""A question: what coordinators and editors ask for, its fields declared once for forms, JSON, store and schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.app.articles.source import Source
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.request.budget import MAX_SCOPE, MAX_TITLE, question_faults
from evenrank.app.request.question_fields import (
    AS_SUBJECT,
    ATTENTION,
    DIMENSION_NAMES,
    FAIRNESS,
    IMPORTANCE,
    KEYWORDS,
    MAX_LENGTH,
    QUALITY_CLASS,
    RESTRICTIONS,
    SOURCES,
    FieldKind,
    Sent,
    choice_field,
    text_field,
    whole_number_field,
)
from evenrank.core.allowed import MOST_PAGES
from evenrank.core.exposure import Attention, parse_attention
from evenrank.core.groups import Dimension
from evenrank.core.records import WORK_ORDER, Topic
from evenrank.policies.optimal import Optimal, OptimalList
from evenrank.policies.optimal.precision_floor import LEAST_FAIRNESS
from evenrank.policies.policy import Policy
from evenrank.policies.registry import make_policy
from evenrank.policies.relevance import Relevance
from evenrank.retrieval.query.topic_query import subject_words
from evenrank.trec.dimensions import DIMENSIONS

MAX_SIZE, MAX_VIEWS = 10_000_000, 2_000_000_000
SUBJECT_SIZE = "About how many articles are on the subject, in all classes and groups; 0 for as many as are estimated."
FIT = "fit"
"""The goal that is chosen from the subject."""
CLOSE, BROAD = "close", "broad"
"""How closely articles match: those about the subject alone, and those that are perhaps about it, too."""
QUICK = OptimalList(proof="brief")
"""`optimal` for people who wait: within about half a percent of the best score, in half the time."""


@dataclass(frozen=True)
class QuestionField:
    """A field of a question as forms and JSON send it."""

    kind: FieldKind
    name: str
    """What forms, JSON and the store call it."""
    attribute: str
    default: Any
    is_in_search: bool
    """Whether saved searches have it, too; else only lists."""


def sent(kind: FieldKind, default: Any = MISSING, name: str = "", is_in_search: bool = True) -> Any:
    """The declaration of a field of a question; the name is that of the attribute unless it says another."""
    return field(default=default, metadata={"kind": kind, "name": name, "is_in_search": is_in_search})


@dataclass(frozen=True)
class Question:
    """Title, words and scope of a project, and how its list is to be made."""

    title: str = sent(text_field(MAX_TITLE, is_required=True))
    keywords: tuple[str, ...] = sent(KEYWORDS, ())
    scope: str = sent(text_field(MAX_SCOPE), "")
    match: str = sent(choice_field("match", Message("Choose how closely articles match: %(names)s.", names="")), CLOSE)
    """Whether articles that are only perhaps about the subject are listed, too."""
    policy: str = sent(
        choice_field("policy", Message("Choose a way of ranking: %(names)s.", names="")), "optimal", is_in_search=False
    )
    fairness: float = sent(FAIRNESS, 1.0)
    sources: tuple[Source, ...] = sent(SOURCES, ())
    """Articles that people bring; empty when the words find them."""
    dimensions: tuple[str, ...] = sent(DIMENSION_NAMES, ())
    """Dimensions that the goal is about; empty for the usual ones."""
    goal: str = sent(choice_field("goal", Message("Choose a goal: %(names)s.", names="")), FIT)
    """How much attention each group should get."""
    as_subject: tuple[str, ...] = sent(AS_SUBJECT, ())
    """Dimensions in which the goal is as the subject is; with the goal `fit`, what the subject suggests."""
    within: tuple[str, ...] = sent(RESTRICTIONS, ())
    """Only articles of these groups, as `dimension=group`; empty for all."""
    min_class: str = sent(QUALITY_CLASS, "Stub", name="least")
    """Articles of this class and better ones are shown."""
    max_class: str = sent(QUALITY_CLASS, "B", name="best")
    """Articles of this class and worse ones are shown."""
    min_size: int = sent(whole_number_field(MAX_SIZE), 0)
    """Shortest article in bytes."""
    max_size: int = sent(whole_number_field(MAX_SIZE), 0)
    """Longest article in bytes; 0 for any."""
    min_views: int = sent(whole_number_field(MAX_VIEWS), 0)
    """Fewest page views, where the collection knows them."""
    max_views: int = sent(whole_number_field(MAX_VIEWS), 0)
    """Most page views; 0 for any."""
    importance: tuple[str, ...] = sent(IMPORTANCE, ())
    """Importance that a project's banner gives; empty for any."""
    length: int = sent(whole_number_field(MAX_LENGTH), 0, is_in_search=False)
    """Longest list; 0 for the usual length."""
    n_relevant: int = sent(whole_number_field(MOST_PAGES, SUBJECT_SIZE), 0, name="relevant")
    attention: str = sent(ATTENTION, "log")
    """How far people read, as `rank --attention` takes it; a table as its weights."""

    def topic(self, number: int = 0) -> Topic:
        """The question as a topic of the track, without judgments."""
        return Topic(number, self.title, self.keywords, self.scope)

    @property
    def attention_model(self) -> Attention:
        """What gives the weights of ranks."""
        return parse_attention(self.attention, may_read=False)

    def weights(self, n_ranks: int) -> NDArray[np.float64]:
        """Attention of the first ranks."""
        return self.attention_model.weights(n_ranks).astype(np.float64)

    @property
    def is_plain(self) -> bool:
        """Whether it asks for plain search: the order by relevance alone."""
        return self.policy == Relevance.name or (self.policy == Optimal.name and self.fairness < LEAST_FAIRNESS)

    def ranker(self) -> Policy:
        """The policy that is asked for, with its strength."""
        if self.policy != Optimal.name:
            return make_policy(self.policy)
        return replace(QUICK, fairness=self.fairness)

    def widened(self) -> Question:
        """The question without its limits on classes, size, views, importance and groups, and with articles that may be
        about its subject. Where keywords can find others, it is not limited to those that people brought."""
        kept = tuple(source for source in self.sources if source.role == "not") if self.keywords else self.sources
        return replace(
            self,
            sources=kept,
            match=BROAD,
            within=(),
            min_class=WORK_ORDER[0],
            max_class=WORK_ORDER[-1],
            min_size=0,
            max_size=0,
            min_views=0,
            max_views=0,
            importance=(),
        )

    def to_record(self) -> dict[str, Any]:
        """The question as JSON has it."""
        return {name: getattr(self, asked.attribute) for name, asked in QUESTION_FIELDS.items()}

    def to_json(self) -> str:
        return orjson.dumps(self.to_record()).decode()

    def to_fields(self) -> dict[str, str]:
        """The question as the fields of the form, which they fill again."""
        found: dict[str, str] = {}
        for name, asked in QUESTION_FIELDS.items():
            found |= asked.kind.form_fields(name, getattr(self, asked.attribute))
        return found


QUESTION_FIELDS: dict[str, QuestionField] = {
    made.name: made
    for made in (
        QuestionField(
            kind=declared.metadata["kind"],
            name=declared.metadata["name"] or declared.name,
            attribute=declared.name,
            default=declared.default,
            is_in_search=declared.metadata["is_in_search"],
        )
        for declared in fields(Question)
    )
}
"""The fields of a question by the names under which they are sent."""


class QuestionError(BadRequestError):
    """All that is wrong with a question, by field."""

    def __init__(self, by_field: Mapping[str, str]) -> None:
        super().__init__(" ".join(by_field.values()))
        self.by_field = by_field


class NothingFoundError(QuestionError):
    """A question that is in order, but that no article answers."""

    status_for_bots = 404


class RevealingLimitError(QuestionError):
    """A question whose list would tell too much about people, whatever else it says."""

    status_for_bots = 403


def question_from_json(text: bytes | str) -> Question:
    """A stored question; those from before lists had a range of classes have no upper end."""
    record = {"best": WORK_ORDER[-1], **orjson.loads(text)}
    asked = {name: QUESTION_FIELDS[name] for name in record}
    return Question(**{made.attribute: _loaded(record[name]) for name, made in asked.items()})


def _loaded(stored: Any) -> Any:
    """A stored value as questions have it: lists are tuples, and objects in them are sources."""
    if not isinstance(stored, list):
        return stored
    return tuple(Source(**value) if isinstance(value, dict) else value for value in stored)


def parse_question(
    fields: Mapping[str, Any], known: Mapping[str, Dimension] = DIMENSIONS, language: str = "en"
) -> Question:
    """A question from form fields or JSON; QuestionError when something is wrong, all of it at once.

    `known` are the dimensions that it may name: those of the collection. `language` is that of the articles.
    """
    form = Sent(fields, known, {})
    question = Question(**{asked.attribute: asked.kind.parse(name, form) for name, asked in QUESTION_FIELDS.items()})
    if not question.title:
        form.faults["title"] = Message("Give the project a title.")
    form.faults.update(question_faults(question.title, question.keywords, question.scope, language))
    if form.faults:
        raise QuestionError(form.faults)
    least, best = question.min_class, question.max_class
    if WORK_ORDER.index(least) > WORK_ORDER.index(best):
        raise NothingFoundError(
            {"best": Message("No class is both %(least)s or better and %(best)s or worse.", least=least, best=best)}
        )
    words = " ".join((question.title, *question.keywords))
    if not question.sources and not subject_words(words, is_name=False, language=language):
        has_words = any(letter.isalnum() for letter in words)
        common = Message("These words are in nearly every article. Add words that name your subject.")
        text = common if has_words else Message("There is nothing to search for here. Name your subject in words.")
        raise NothingFoundError({"keywords": text})
    return question
