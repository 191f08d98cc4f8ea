"""A question: what a coordinator or editor asks for, checked at the door."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.app.articles.groups import restricts_people
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.request.choices import TABLE, attention_choices, goal_choices, policy_choices
from evenrank.app.request.field_values import parse_classes, parse_fairness, parse_whole
from evenrank.app.request.forms import KEYWORDS_ALLOWED, MAX_SCOPE, MAX_TITLE, are_too_many, clean_text, split_keywords
from evenrank.app.sources.source import (
    Source,
    source_fields,
    sources_as_data,
    sources_from_data,
    sources_from_fields,
    sources_from_records,
)
from evenrank.core.exposure import Attention, check_attention, parse_attention
from evenrank.core.groups import Dimension
from evenrank.core.records import WORK_ORDER, Topic
from evenrank.errors import EvenrankError
from evenrank.policies.optimal import Optimal, OptimalList
from evenrank.policies.optimal.precision_floor import LEAST_FAIRNESS
from evenrank.policies.policy import Policy
from evenrank.policies.registry import make_policy
from evenrank.policies.relevance import Relevance
from evenrank.ranking.groups import parse_restriction
from evenrank.retrieval.query.topic_query import subject_words
from evenrank.trec.dimensions.dimensions import DIMENSIONS

MAX_SIZE, MAX_LENGTH, MAX_VIEWS = 10_000_000, 1000, 2_000_000_000
OWN_WEIGHTS = "table"
"""What the form calls an attention model with weights of one's own."""
OFFERED = "dimensions-offered"
"""What a form has that offers dimensions as boxes, so that ticking none differs from not being asked."""
NO_GROUPS = Message("Choose at least one of the groups that count.")
LISTS = ("keywords", "dimensions", "importance", "within")
"""Fields that are lists."""
IMPORTANCES = ("Top", "High", "Mid", "Low", "Unknown")
QUICK = OptimalList(proof="brief")
"""`optimal` for people who wait: within about half a percent of the best score, in half the time."""


@dataclass(frozen=True)
class Question:
    """Title, words and scope of a project, and how its list is to be made."""

    title: str
    keywords: tuple[str, ...] = ()
    scope: str = ""
    policy: str = "optimal"
    fairness: float = 1.0
    sources: tuple[Source, ...] = ()
    """Articles that people brought; empty when the words find them."""
    dimensions: tuple[str, ...] = ()
    """Dimensions that the goal is about; empty for the usual ones."""
    goal: str = "track"
    """How much attention each group should get."""
    within: tuple[str, ...] = ()
    """Only articles of these groups, as `dimension=group`; empty for all."""
    least: str = "Stub"
    """Articles of this class and better ones are shown."""
    best: str = "B"
    """Articles of this class and worse ones are shown."""
    min_size: int = 0
    """Shortest article in bytes."""
    max_size: int = 0
    """Longest article in bytes; 0 for any."""
    min_views: int = 0
    """Fewest page views, where the collection knows them."""
    max_views: int = 0
    """Most page views; 0 for any."""
    importance: tuple[str, ...] = ()
    """Importance that a project's banner gives; empty for any."""
    length: int = 0
    """Longest list; 0 for the usual length."""
    attention: str = "log"
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

    def to_json(self) -> bytes:
        return orjson.dumps({**asdict(self), "sources": sources_as_data(self.sources)})

    def to_fields(self) -> dict[str, str]:
        """The question as the fields of the form, which they fill again."""
        return {
            "title": self.title,
            "keywords": ", ".join(self.keywords),
            "scope": self.scope,
            "policy": self.policy,
            "fairness": f"{self.fairness:g}",
            "goal": self.goal,
            **{f"dimension-{name}": "1" for name in self.dimensions},
            **{f"within-{name}": group for name, _, group in (text.partition("=") for text in self.within)},
            "least": self.least,
            "best": self.best,
            "min_size": str(self.min_size or ""),
            "max_size": str(self.max_size or ""),
            "min_views": str(self.min_views or ""),
            "max_views": str(self.max_views or ""),
            **{f"importance-{name}": "1" for name in self.importance},
            "length": str(self.length or ""),
            **_attention_fields(self.attention),
            **source_fields(self.sources),
        }


class QuestionError(BadRequestError):
    """All that is wrong with a question, by field."""

    def __init__(self, by_field: Mapping[str, str]) -> None:
        super().__init__(" ".join(by_field.values()))
        self.by_field = by_field


class NothingFoundError(QuestionError):
    """A question that is in order, but that no article answers."""

    status_for_bots = 404


def question_from_json(text: bytes | str) -> Question:
    """A stored question."""
    record = orjson.loads(text)
    lists = {name: tuple(record[name]) for name in LISTS if name in record}
    if "best" not in record:
        record["best"] = WORK_ORDER[-1]  # kept before lists had a range of classes
    return Question(**{**record, **lists, "sources": sources_from_data(record.get("sources", ()))})


def parse_question(
    fields: Mapping[str, Any], known: Mapping[str, Dimension] = DIMENSIONS, language: str = "en"
) -> Question:
    """A question from form fields or JSON; QuestionError when something is wrong, all of it at once.

    `known` are the dimensions that it may name: those of the collection. `language` is that of the articles.
    """
    faults: dict[str, str] = {}
    title = clean_text(fields.get("title", ""))
    keywords = split_keywords(fields.get("keywords", ""))
    scope = clean_text(fields.get("scope", ""))
    policy = str(fields.get("policy", "") or next(iter(policy_choices())))
    fairness = parse_fairness(fields.get("fairness", 1.0), faults)
    if not title:
        faults["title"] = "Give the project a title."
    for name, text, most in (("title", title, MAX_TITLE), ("scope", scope, MAX_SCOPE)):
        if len(text) > most:
            faults[name] = Message("This has %(n)s characters; %(most)s are allowed.", n=len(text), most=most)
    if are_too_many(keywords):
        faults["keywords"] = KEYWORDS_ALLOWED
    if policy not in policy_choices():
        faults["policy"] = Message("Choose a way of ranking: %(names)s.", names=", ".join(policy_choices()))
    sources = (
        sources_from_records(fields["sources"], faults) if "sources" in fields else sources_from_fields(fields, faults)
    )
    least, best = parse_classes(fields, faults)
    question = Question(
        title=title,
        keywords=keywords,
        scope=scope,
        policy=policy,
        fairness=fairness,
        sources=sources,
        dimensions=_dimensions(fields, known, faults),
        goal=_goal(fields, faults),
        within=_within(fields, known, faults),
        least=least,
        best=best,
        min_size=parse_whole("min_size", fields, MAX_SIZE, faults),
        max_size=parse_whole("max_size", fields, MAX_SIZE, faults),
        min_views=parse_whole("min_views", fields, MAX_VIEWS, faults),
        max_views=parse_whole("max_views", fields, MAX_VIEWS, faults),
        importance=_chosen("importance", fields, IMPORTANCES),
        length=parse_whole("length", fields, MAX_LENGTH, faults),
        attention=_attention(fields, faults),
    )
    if faults:
        raise QuestionError(faults)
    if WORK_ORDER.index(least) > WORK_ORDER.index(best):
        raise NothingFoundError(
            {"best": Message("No class is both %(least)s or better and %(best)s or worse.", least=least, best=best)}
        )
    if not sources and not subject_words(" ".join((title, *keywords)), is_name=False, language=language):
        text = Message("These words are in nearly every article. Add words that name your subject.")
        raise NothingFoundError({"keywords": text})
    return question


def _chosen(name: str, fields: Mapping[str, Any], known: Iterable[str]) -> tuple[str, ...]:
    """The choices of a list: a JSON list, or boxes `NAME-CHOICE` of a form."""
    given = fields.get(name)
    wanted = given if isinstance(given, list | tuple) else [key for key in known if fields.get(f"{name}-{key}")]
    return tuple(key for key in known if key in wanted)


def _dimensions(fields: Mapping[str, Any], known: Mapping[str, Dimension], faults: dict[str, str]) -> tuple[str, ...]:
    given = fields.get("dimensions", [])
    if any(name not in known for name in given):
        faults["dimensions"] = Message("Choose dimensions from: %(names)s.", names=", ".join(known))
    chosen = _chosen("dimensions", fields, known) or _chosen("dimension", fields, known)
    if not chosen and fields.get(OFFERED):
        faults["dimensions"] = NO_GROUPS
    return chosen


def _within(fields: Mapping[str, Any], known: Mapping[str, Dimension], faults: dict[str, str]) -> tuple[str, ...]:
    """Groups that articles must be in: a JSON list of `dimension=group`, or fields `within-DIMENSION` of a form."""
    given = fields.get("within")
    chosen = given if isinstance(given, list | tuple) else [
        f"{name}={fields[f'within-{name}']}" for name in known if fields.get(f"within-{name}")
    ]  # fmt: skip
    try:
        parse_restriction(chosen, known)
    except EvenrankError as error:
        faults["within"] = str(error)
    if any(restricts_people(str(text), known) for text in chosen):
        faults["within"] = Message("A list cannot be limited to a group of people, only to biographies.")
    return tuple(map(str, chosen))


def _goal(fields: Mapping[str, Any], faults: dict[str, str]) -> str:
    goal = str(fields.get("goal", "") or next(iter(goal_choices())))
    if goal not in goal_choices():
        faults["goal"] = Message("Choose a goal: %(names)s.", names=", ".join(goal_choices()))
    return goal


def _attention(fields: Mapping[str, Any], faults: dict[str, str]) -> str:
    """The attention model that a form or JSON names; in a form, weights of one's own are a field beside it."""
    name = str(fields.get("attention", "") or next(iter(attention_choices()))).strip()
    weights = ",".join(str(fields.get("weights", "")).replace(",", " ").replace(";", " ").split())
    try:
        chosen = TABLE + weights if name == OWN_WEIGHTS else name
        return check_attention(chosen, MAX_LENGTH, may_read=False, by_rank_alone=True)
    except EvenrankError as error:
        faults["attention"] = str(error)
        if name == OWN_WEIGHTS:
            faults["attention"] = Message(
                "Give a weight for each rank, with blanks or commas between them. The first must be above 0, and none "
                "may be larger than the one before it."
            )
        return next(iter(attention_choices()))


def _attention_fields(attention: str) -> dict[str, str]:
    if attention.startswith(TABLE):
        return {"attention": OWN_WEIGHTS, "weights": attention.removeprefix(TABLE).replace(",", " ")}
    return {"attention": attention}
