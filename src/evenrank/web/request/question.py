"""A question: what a coordinator or editor asks for, checked at the door."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlencode

import orjson

from evenrank.policies.optimal import Optimal
from evenrank.policies.policy import Policy
from evenrank.policies.registry import POLICIES
from evenrank.records import Topic
from evenrank.web.pages.errors import BadRequestError
from evenrank.web.request.choices import policy_choices

MAX_TITLE, MAX_KEYWORDS, MAX_KEYWORD, MAX_SCOPE = 200, 100, 100, 2000
MAX_FAIRNESS = 1000.0
KEYWORDS_ALLOWED = f"At most {MAX_KEYWORDS} keywords of at most {MAX_KEYWORD} characters are allowed."
QUICK = Optimal(tolerance=1e-4, max_iterations=50)
"""`optimal` for people who wait: within about half a percent of the best score, in half the time."""
STRONG = replace(QUICK, max_iterations=150)
"""The same where fairness counts more than relevance, which takes longer to settle."""
_SEPARATORS = re.compile(r"[,;\n]")
NOT_TEXT = r"\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"
"""Control characters, and marks that turn the direction of text, as part of a regular expression."""
_NOT_TEXT = re.compile(rf"[{NOT_TEXT}\ud800-\udfff]+")
"""The same with half characters, which JSON does not have."""


@dataclass(frozen=True)
class Question:
    """Title, words and scope of a project, and how its list is to be made."""

    title: str
    keywords: tuple[str, ...] = ()
    scope: str = ""
    policy: str = "optimal"
    fairness: float = 1.0

    def topic(self, number: int = 0) -> Topic:
        """The question as a topic of the track, without judgments."""
        return Topic(number, self.title, self.keywords, self.scope)

    def ranker(self) -> Policy:
        """The policy that is asked for, with its strength."""
        if self.policy != Optimal.name:
            return POLICIES[self.policy]()
        return replace(QUICK if self.fairness <= 1.0 else STRONG, fairness=self.fairness)

    def to_json(self) -> bytes:
        return orjson.dumps(asdict(self))

    def to_query(self) -> str:
        """The question as part of an address, which fills the form again."""
        return urlencode({**asdict(self), "keywords": ", ".join(self.keywords), "fairness": f"{self.fairness:g}"})


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
    return Question(**{**record, "keywords": tuple(record["keywords"])})


def parse_question(fields: Mapping[str, Any]) -> Question:
    """A question from form fields or JSON; QuestionError when something is wrong, all of it at once."""
    faults: dict[str, str] = {}
    title = clean(fields.get("title", ""))
    keywords = split_keywords(fields.get("keywords", ""))
    scope = clean(fields.get("scope", ""))
    policy = str(fields.get("policy", "") or next(iter(policy_choices())))
    fairness = _fairness(fields.get("fairness", 1.0), faults)
    if not title:
        faults["title"] = "Give the project a title."
    for name, text, most in (("title", title, MAX_TITLE), ("scope", scope, MAX_SCOPE)):
        if len(text) > most:
            faults[name] = f"The {name} has {len(text):,} characters; {most:,} are allowed."
    if are_too_many(keywords):
        faults["keywords"] = KEYWORDS_ALLOWED
    if policy not in policy_choices():
        faults["policy"] = f"Choose a way of ranking: {', '.join(policy_choices())}."
    if faults:
        raise QuestionError(faults)
    return Question(title, keywords, scope, policy, fairness)


def are_too_many(keywords: Sequence[str]) -> bool:
    """Whether there are too many keywords, or one that is too long."""
    return len(keywords) > MAX_KEYWORDS or any(len(keyword) > MAX_KEYWORD for keyword in keywords)


def clean(value: object) -> str:
    """Text without control characters and superfluous blanks; empty for anything that is not text."""
    return " ".join(_NOT_TEXT.sub(" ", value).split()) if isinstance(value, str) else ""


def split_keywords(value: object) -> tuple[str, ...]:
    """Keywords from a list or from text with commas or lines, without repetition."""
    parts = _SEPARATORS.split(value) if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return tuple(dict.fromkeys(filter(None, map(clean, parts))))


def _fairness(value: object, faults: dict[str, str]) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number <= MAX_FAIRNESS:
        faults["fairness"] = f"The strength of fairness must be a number from 0 to {MAX_FAIRNESS:g}."
        return 1.0
    return number
