"""Which articles are about a subject: how far the app's decision agrees with a person, and where its weights are from.

    python benchmarks/subject_labels.py DIR [--fit] [--folds 8]

DIR is a collection of `../shared/data/wikipedia-sample` with an index. `subject_labels.jsonl` has page ids of articles
that a person judged by title and beginning: whether a WikiProject of the subject's name would accept them. Each subject
counts twice, with its keywords and by its title alone. Printed are precision and recall among the judged articles at
several probabilities, each subject being left out when the weights for it are fitted; `--fit` then writes the weights
of all subjects (`app/articles/on_subject_weights.toml`).

The first forty subjects were chosen for development, failures of earlier rules among them. Thirty each were judged in
three further readings of lists, before which the weights had not seen them; four histories, of the best matches whether
listed or not, were judged when lists of histories were too short.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from evenrank.app.articles.asked_subject import asked_by, with_keywords
from evenrank.app.articles.on_subject import (
    WEIGHTS,
    WEIGHTS_FILE,
    Evidence,
    evidence_of,
    factor_of,
    probability,
    read_matches,
)
from evenrank.core.records import Topic
from evenrank.ranking.sources import Session
from evenrank.retrieval.engine.protocol import Engine, Restriction
from evenrank.retrieval.relevance import LexicalModel
from evenrank.trec.collection import as_collection

LABELS = Path(__file__).with_name("subject_labels.jsonl")
RIDGE = 0.3
"""Weight of the penalty on large weights; 0.1 to 1 are alike."""
EACH_SUBJECT = 50.0
"""What the articles of each subject and form count together."""
PROBABILITIES = (0.5, 0.6, 0.7, 0.77, 0.85)

Weights = dict[str, dict[str, float]]


class Judged(NamedTuple):
    """An article with what a person said of it."""

    subject: str
    has_keywords: bool
    is_on: bool
    parts: Mapping[str, Evidence]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--folds", type=int, default=8)
    parser.add_argument("--fit", action="store_true", help="write the weights of all subjects")
    options = parser.parse_args()
    engine = Session.of(as_collection(options.folder)).engine
    subjects = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    judged = [one for subject in subjects for one in read_judged(engine, subject)]
    print(f"{len(judged)} judgments of {len(subjects)} subjects, {sum(one.is_on for one in judged)} on topic")
    report(judged, cross_validate(judged, options.folds))
    if options.fit:
        write_weights(fit(judged))


def read_judged(engine: Engine, subject: Mapping[str, Any]) -> list[Judged]:
    """The judged articles of a subject, by its title alone and with its keywords."""
    page_ids = np.array(sorted([*subject["on"], *subject["off"]]), np.int32)
    pages, on, model = list(read_matches(engine, page_ids)), set(subject["on"]), LexicalModel(engine)
    found = []
    for keywords in ((), tuple(subject["keywords"])):
        topic = with_keywords(Topic(0, subject["title"], keywords), engine)
        best = model.search(topic, 1, Restriction()).scores[0]
        hits = model.search(topic, len(page_ids), Restriction(page_ids=page_ids.tolist()))
        scores = dict(zip(hits.page_ids.tolist(), (hits.scores / best).tolist(), strict=True))
        asked = asked_by(topic)
        found += [
            Judged(subject["title"], bool(keywords), page_id in on, evidence_of(asked, page, scores.get(page_id, 0.0)))
            for page_id, page in zip(page_ids.tolist(), pages, strict=True)
        ]
    return found


def fit(judged: Sequence[Judged]) -> Weights:
    """The weights with which the product of the factors' probabilities agrees best with the judgments."""
    names = {part: ["bias", *evidence] for one in judged for part, evidence in one.parts.items()}
    ends = np.cumsum([0, *map(len, names.values())])
    places = {part: slice(begin, end) for part, begin, end in zip(names, ends, ends[1:], strict=False)}
    cells = {part: cells_of(judged, part, list(names)) for part in names}
    values = {
        part: np.array([[1.0, *judged[n].parts[part].values()] for n in cells[part][1].tolist()]) for part in names
    }
    is_factor = np.zeros((len(names), len(judged)), bool)
    for cell in cells.values():
        is_factor[cell] = True
    is_on = np.array([one.is_on for one in judged])
    n_of = Counter((one.subject, one.has_keywords) for one in judged)
    counts = np.array([EACH_SUBJECT / n_of[one.subject, one.has_keywords] for one in judged])
    penalty = np.full(ends[-1], RIDGE)
    penalty[ends[:-1]] *= 0.05

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = np.zeros(is_factor.shape)
        for part, place in places.items():
            scores[cells[part]] += values[part] @ weights[place]
        logs = -np.where(is_factor, np.logaddexp(0.0, -scores), 0.0).sum(axis=0)
        missing = 1.0 / (1.0 + np.exp(scores))
        chance = np.minimum(np.exp(logs), 1.0 - 1e-9)
        slope = counts * np.where(is_on, 1.0, -chance / (1.0 - chance))
        gradient = 2.0 * penalty * weights
        for part, place in places.items():
            gradient[place] -= values[part].T @ (slope[cells[part][1]] * missing[cells[part]])
        cost = -counts @ np.where(is_on, logs, np.log1p(-chance)) + penalty @ weights**2
        return float(cost), gradient

    found = minimize(loss, np.zeros(ends[-1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
    return {part: dict(zip(names[part], found[place].tolist(), strict=True)) for part, place in places.items()}


def cells_of(judged: Sequence[Judged], part: str, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The factor to which each article adds the score of a part, and the article: of those that have the part."""
    rows = [n for n, one in enumerate(judged) if part in one.parts]
    factors = [names.index(factor_of(part, judged[n].parts)) for n in rows]
    return np.array(factors), np.array(rows)


def cross_validate(judged: Sequence[Judged], n_folds: int) -> np.ndarray:
    """The probability of each article by weights that were fitted without its subject."""
    subjects = list(dict.fromkeys(one.subject for one in judged))
    fold_of = {
        subject: number % n_folds for number, subject in enumerate(np.random.default_rng(0).permutation(subjects))
    }
    chances = np.zeros(len(judged))
    for fold in range(n_folds):
        weights = fit([one for one in judged if fold_of[one.subject] != fold])
        for number, one in enumerate(judged):
            if fold_of[one.subject] == fold:
                chances[number] = probability(one.parts, weights)
    return chances


def report(judged: Sequence[Judged], chances: np.ndarray) -> None:
    """Precision and recall of all articles, and their means over subjects."""
    is_on = np.array([one.is_on for one in judged])
    subjects = np.array([one.subject for one in judged])
    has_keywords = np.array([one.has_keywords for one in judged])
    print("form      probability  precision  recall  mean precision  mean recall")
    for form, of_form in (("title", ~has_keywords), ("keywords", has_keywords)):
        for least in PROBABILITIES:
            is_listed = of_form & (chances >= least)
            each = [(is_listed & (subjects == name), of_form & is_on & (subjects == name)) for name in set(subjects)]
            precision = np.mean([is_on[listed].mean() for listed, _ in each if listed.any()])
            recall = np.mean([(listed & on).sum() / max(on.sum(), 1) for listed, on in each])
            total = (is_on[is_listed].mean(), is_on[is_listed].sum() / is_on[of_form].sum())
            print(f"{form:9} {least:11.2f}  {total[0]:9.3f}  {total[1]:6.3f}  {precision:14.3f}  {recall:11.3f}")


def write_weights(weights: Weights) -> None:
    """Put the weights in the place of those that the app uses; the probability to be listed stays."""
    lines = ["# Made by `python benchmarks/subject_labels.py DIR --fit`; `least` is the probability to be listed."]
    lines += [f"least = {WEIGHTS['least']}"]
    for part, values in weights.items():
        lines += ["", f"[{part}]", *(f"{json.dumps(name)} = {value:.2f}" for name, value in values.items())]
    Path(str(WEIGHTS_FILE)).write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
