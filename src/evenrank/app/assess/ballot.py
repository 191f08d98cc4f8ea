"""From the form to a vote, with a token that is the same whenever the same answer is sent again."""

from __future__ import annotations

import hashlib
import math
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass

from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.trec.assessment.votes import Outcome, Vote

MAX_COMMENT = 4000
MAX_SECONDS = 24 * 3600.0
_NONCE = re.compile(r"[A-Za-z0-9_-]{8,64}")


@dataclass(frozen=True)
class AnswerButton:
    """One of the buttons."""

    key: str
    label: str
    outcome: Outcome
    grade: int | None = None

    @property
    def meaning(self) -> str:
        """What it says of an article; empty for an answer that says nothing."""
        return MEANINGS.get(self.label, "")


SCALES: dict[int, tuple[str, ...]] = {
    1: ("Not relevant", "Relevant"),
    2: ("Not relevant", "Partly relevant", "Relevant"),
    3: ("Not relevant", "Marginally relevant", "Fairly relevant", "Highly relevant"),
}
"""Words of the grades, 0 first, by the highest grade that is asked for."""
MEANINGS = {
    "Relevant": "the article’s subject belongs to the topic, so that an editor of this project would want it on the "
    "work list.",
    "Highly relevant": "the article is about the topic itself; every editor of this project would want it on the work "
    "list.",
    "Fairly relevant": "the article’s subject belongs to the topic, beside other topics.",
    "Partly relevant": "only a part of the article belongs to the topic.",
    "Marginally relevant": "the article touches the topic; few editors of this project would want it on the work list.",
    "Not relevant": "the topic is only mentioned in passing, or a marked word means something else.",
    "Cannot judge": "the text is missing, broken, or not enough to tell.",
}
"""What each answer means, unless the organisers have guidelines of their own."""
OTHERS = (AnswerButton("x", "Cannot judge", "unassessable"), AnswerButton("s", "Skip", "skipped"))
SAID = {"unassessable": "Cannot judge", "skipped": "Skipped"}


def answers_for(max_grade: int) -> dict[str, AnswerButton]:
    """Buttons by their key, the highest grade first."""
    words = SCALES[max_grade]
    grades = [AnswerButton(str(grade), words[grade], "graded", grade) for grade in range(max_grade, -1, -1)]
    return {answer.key: answer for answer in (*grades, *OTHERS)}


def label_of(outcome: str | None, grade: int | None, max_grade: int = 1) -> str:
    """A vote in the words of the buttons; a grade beyond the scale, from an import, as a number."""
    if outcome is None:
        return "Open"
    if outcome == "graded" and grade is not None:
        words = SCALES[max_grade]
        return words[grade] if 0 <= grade < len(words) else f"Grade {grade}"
    return SAID[outcome]


def new_nonce() -> str:
    """What distinguishes one showing of a form from another."""
    return secrets.token_urlsafe(12)


def vote_of(
    fields: Mapping[str, str],
    topic: int,
    page: int,
    name: str,
    answers: Mapping[str, AnswerButton],
    method: str = "web",
) -> Vote:
    """The vote in a form; its token is made of the form's nonce and what the vote says."""
    answer = answers.get(fields.get("answer", ""))
    if answer is None:
        raise BadRequestError("Choose one of the answers.")
    comment = fields.get("comment", "").replace("\r\n", "\n").strip()
    if len(comment) > MAX_COMMENT:
        text = "The comment has %(n)s characters; %(most)s are allowed."
        raise BadRequestError(Message(text, n=len(comment), most=MAX_COMMENT))
    said = hashlib.sha256(f"{topic}\0{page}\0{answer.key}\0{comment}".encode()).hexdigest()[:16]
    return Vote(
        token=f"{nonce_of(fields)}.{said}",
        topic=topic,
        page=page,
        assessor=name,
        outcome=answer.outcome,
        grade=answer.grade,
        comment=comment,
        seconds=seconds_of(fields),
        method=method,
    )


def nonce_of(fields: Mapping[str, str]) -> str:
    """The nonce of the form that was sent."""
    nonce = fields.get("nonce", "")
    if not _NONCE.fullmatch(nonce):
        raise BadRequestError("The form was not complete. Please reload the page and answer again.")
    return nonce


def seconds_of(fields: Mapping[str, str]) -> float | None:
    """Time in front of the page: as the browser counted it, else since the page was sent; None when not plausible."""
    try:
        seconds = float(fields.get("seconds") or time.time() - float(fields.get("opened", "nan")))
    except ValueError:
        return None
    return round(seconds, 1) if math.isfinite(seconds) and 0 <= seconds <= MAX_SECONDS else None
