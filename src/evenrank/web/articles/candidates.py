"""The articles that a question finds, ready for a policy."""

from __future__ import annotations

from evenrank.ranking.build import build
from evenrank.ranking.job import Prepared
from evenrank.records import Task
from evenrank.web.desk import Desk
from evenrank.web.request.question import NothingFoundError, Question


def find_for(desk: Desk, question: Question, task: Task) -> Prepared:
    """Candidates and estimated goal of a question; NothingFoundError when no article matches."""
    found = desk.source.find(question.topic())
    if not len(found):
        raise NothingFoundError({"keywords": "No article has any of these words. Try other or more general keywords."})
    return Prepared(*build(desk.collection, 0, task, found, desk.goals[task]))
