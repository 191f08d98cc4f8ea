"""From the form to a vote, with a token that is the same whenever the same answer is sent again."""

from __future__ import annotations

import hashlib
import math
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass

from evenrank.assessment.votes import Outcome, Vote
from evenrank.web.pages.errors import BadRequestError

MAX_COMMENT = 4000
MAX_SECONDS = 24 * 3600.0
_NONCE = re.compile(r"[A-Za-z0-9_-]{8,64}")


@dataclass(frozen=True)
class Answer:
    """One of the buttons."""

    key: str
    label: str
    outcome: Outcome
    grade: int | None = None


ANSWERS = {
    answer.key: answer
    for answer in (
        Answer("1", "Relevant", "graded", 1),
        Answer("0", "Not relevant", "graded", 0),
        Answer("x", "Cannot judge", "unassessable"),
        Answer("s", "Skip", "skipped"),
    )
}
"""Buttons by their key."""


def label_of(outcome: str | None, grade: int | None) -> str:
    """A vote in the words of the buttons."""
    if outcome is None:
        return "Open"
    if outcome == "graded" and grade not in (0, 1):
        return f"Grade {grade}"
    return {"unassessable": "Cannot judge", "skipped": "Skipped"}.get(outcome) or (
        "Relevant" if grade else "Not relevant"
    )


def new_nonce() -> str:
    """What distinguishes one showing of a form from another."""
    return secrets.token_urlsafe(12)


def vote_of(fields: Mapping[str, str], topic: int, page: int, name: str, method: str = "web") -> Vote:
    """The vote in a form; its token is made of the form's nonce and what the vote says."""
    answer = ANSWERS.get(fields.get("answer", ""))
    if answer is None:
        raise BadRequestError(f"Choose one of: {', '.join(answer.label for answer in ANSWERS.values())}.")
    comment = fields.get("comment", "").replace("\r\n", "\n").strip()
    if len(comment) > MAX_COMMENT:
        raise BadRequestError(f"The comment has {len(comment):,} characters; {MAX_COMMENT:,} are allowed.")
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
