"""Which articles are about a subject: how far the app's decision agrees with readers, and where its trees are from.

    python benchmarks/subject_labels.py DIR [--fit] [--folds 6] [--held-out]

DIR is a collection of `../shared/data/wikipedia-sample` with an index that has text vectors (`evenrank index --dense`).
`subject_labels.jsonl` has page ids of articles that readers judged by title and beginning: whether a WikiProject of the
subject's name would accept them. Those of which editors would disagree count half. Each subject counts twice, with its
keywords and by its title alone. Printed are precision and recall among the judged articles at several probabilities,
with words alone and with vectors, each subject being left out when the trees for it are made; `--fit` then writes the
trees of all subjects (`app/articles/on_subject_trees.json`). With `--held-out`, the subjects that were held out are
decided by trees of the others.

Subjects 1 to 133 were judged in readings of earlier lists, most articles as they were listed. The next 388, of which
the last 76 (`held_out`) were held out while evidence, words and thresholds were chosen, were written down before; of
each about sixty articles were judged: the most likely ones, the best matches, others at random, and the nearest by text
vectors. Sixty more were read as they were listed, by two readers each, when trees decided.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np

from evenrank.app.articles.asked_subject import asked_by, with_keywords
from evenrank.app.articles.on_subject import (
    TREES_FILE,
    Evidence,
    evidence_of,
    evidence_rows,
    is_no_candidate,
    least_chance,
    read_matches,
    speaks_against,
)
from evenrank.core.records import Topic
from evenrank.ranking.sources import Session
from evenrank.retrieval.encode.dense import DenseScorer, recorded_encoders
from evenrank.retrieval.encode.encoder import Encoder
from evenrank.retrieval.encode.nearness import Nearness
from evenrank.retrieval.engine.engines import index_folder
from evenrank.retrieval.engine.protocol import Engine, Restriction
from evenrank.retrieval.learn.trees import Trees
from evenrank.retrieval.relevance import LexicalModel
from evenrank.trec.collection import as_collection

LABELS = Path(__file__).with_name("subject_labels.jsonl")
N_REFERENCE = 300
EACH_SUBJECT = 50.0
"""What the articles of each subject and form count together."""
PROBABILITIES = (0.4, 0.5, 0.65, 0.77, 0.85, 0.9)
N_FIRST = 50
"""Articles of a list that count in its precision."""
WITHOUT_ORDER = frozenset(("person", "has keywords", "long ago", "sort"))
"""Evidence that may speak for an article or against it; all other evidence speaks for it, or against it, throughout."""
TREES = {
    "objective": "cross_entropy",
    "learning_rate": 0.12,
    "num_leaves": 8,
    "min_data_in_leaf": 100,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 10.0,
    "monotone_constraints_method": "advanced",
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 2,
    "seed": 1,
    "verbose": -1,
}
N_TREES = 100


class Judged(NamedTuple):
    """An article with what readers said of it."""

    subject: str
    has_keywords: bool
    is_held_out: bool
    is_on: float
    """1, 0, or 0.5 where editors would disagree."""
    can_be: bool
    parts: Mapping[str, Evidence]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--folds", type=int, default=6)
    parser.add_argument("--fit", action="store_true", help="write the trees of all subjects")
    parser.add_argument("--held-out", action="store_true", help="decide held-out subjects by trees of the others")
    options = parser.parse_args()
    collection = as_collection(options.folder)
    engine = Session.of(collection).engine
    folder = index_folder(collection)
    scorers = tuple(DenseScorer.open(engine, Encoder(each), folder) for each in recorded_encoders(folder))
    subjects = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    judged = [one for subject in subjects for one in read_judged(engine, scorers, subject)]
    print(
        f"{len(judged) // 2} judgments of {len(subjects)} subjects, {sum(one.is_on for one in judged) / 2:.0f} on topic"
    )
    columns = columns_of(judged)
    for name in ("words", "vectors"):
        used = [column for column in columns if name == "vectors" or not column.startswith("vectors: ")]
        if options.held_out:
            tested = [one for one in judged if one.is_held_out]
            trees = fit([one for one in judged if not one.is_held_out], used)
            report(name, tested, decide(trees, tested))
        else:
            report(name, judged, cross_validate(judged, used, options.folds))
    if options.fit:
        write_trees(judged, columns)


def read_judged(engine: Engine, scorers: Sequence[DenseScorer], subject: Mapping[str, Any]) -> list[Judged]:
    """The judged articles of a subject, by its title alone and with its keywords."""
    values = {**dict.fromkeys(subject["off"], 0.0), **dict.fromkeys(subject["on"], 1.0)}
    values |= dict.fromkeys(subject.get("maybe", ()), 0.5)
    page_ids = np.array(sorted(values), np.int32)
    pages, model = list(read_matches(engine, page_ids)), LexicalModel(engine)
    found = []
    for keywords in ((), tuple(subject["keywords"])):
        own = Topic(0, subject["title"], keywords)
        topic = with_keywords(own, engine)
        first = model.search(topic, N_REFERENCE, Restriction())
        hits = model.search(topic, len(page_ids), Restriction(page_ids=page_ids.tolist()))
        scores = dict(zip(hits.page_ids.tolist(), (hits.scores / first.scores[0]).tolist(), strict=True))
        near = Nearness(tuple(scorers), own, first.page_ids).evidence(page_ids)
        asked = asked_by(topic)
        for page_id, page, vectors in zip(page_ids.tolist(), pages, near, strict=True):
            evidence = {**evidence_of(asked, page, scores.get(page_id, 0.0)), "vectors": vectors}
            facts = (subject["title"], bool(keywords), subject.get("held_out", False), values[page_id])
            found.append(Judged(*facts, not is_no_candidate(asked, page), evidence))
    return found


def columns_of(judged: Sequence[Judged]) -> list[str]:
    """Names of all evidence."""
    return sorted({f"{part}: {name}" for one in judged for part, values in one.parts.items() for name in values})


def fit(judged: Sequence[Judged], columns: Sequence[str]) -> Trees:
    """Trees that agree with the judgments."""
    return Trees.of(tree_record(judged, columns))


def tree_record(judged: Sequence[Judged], columns: Sequence[str]) -> dict[str, Any]:
    """The same as the file has them."""
    n_of = Counter((one.subject, one.has_keywords) for one in judged)
    counts = [EACH_SUBJECT / n_of[one.subject, one.has_keywords] for one in judged]
    rows = evidence_rows([one.parts for one in judged], columns)
    is_free = [column.partition(": ")[2] in WITHOUT_ORDER for column in columns]
    signs = [0 if free else -1 if speaks_against(name) else 1 for name, free in zip(columns, is_free, strict=True)]
    data = lightgbm.Dataset(rows, [one.is_on for one in judged], weight=counts)
    made = lightgbm.train({**TREES, "monotone_constraints": signs}, data, N_TREES)
    return {
        "columns": list(columns),
        "trees": [_tree(tree["tree_structure"]) for tree in made.dump_model()["tree_info"]],
    }


def _tree(root: Mapping[str, Any]) -> dict[str, Any]:
    nodes: list[list[float]] = []
    leaves: list[float] = []

    def add(node: Mapping[str, Any]) -> int:
        if "leaf_value" in node:
            leaves.append(round(node["leaf_value"], 4))
            return ~(len(leaves) - 1)
        number = len(nodes)
        nodes.append([node["split_feature"], round(node["threshold"], 4), 0, 0])
        nodes[number][2:] = [add(node["left_child"]), add(node["right_child"])]
        return number

    if add(root) != 0:  # a tree that is a single leaf
        nodes.append([0, 0.0, -1, -1])
    return {"nodes": nodes, "leaves": leaves}


def decide(trees: Trees, judged: Sequence[Judged]) -> np.ndarray:
    """The probability of each article."""
    chances = trees.chances(evidence_rows([one.parts for one in judged], trees.columns))
    return np.where([one.can_be for one in judged], chances, 0.0)


def cross_validate(judged: Sequence[Judged], columns: Sequence[str], n_folds: int) -> np.ndarray:
    """The probability of each article by trees that were made without its subject."""
    subjects = list(dict.fromkeys(one.subject for one in judged))
    order = np.random.default_rng(0).permutation(len(subjects)).tolist()
    fold_of = {subjects[at]: number % n_folds for number, at in enumerate(order)}
    folds = np.array([fold_of[one.subject] for one in judged])
    chances = np.zeros(len(judged))
    for fold in range(n_folds):
        trees = fit([one for one, other in zip(judged, folds, strict=True) if other != fold], columns)
        chances[folds == fold] = decide(trees, [one for one, own in zip(judged, folds, strict=True) if own == fold])
    return chances


def report(name: str, judged: Sequence[Judged], chances: np.ndarray) -> None:
    """Means over subjects: precision of the first articles from a probability on, and recall; lists below 80 %."""
    is_on = np.array([one.is_on for one in judged])
    groups: dict[tuple[str, bool], list[int]] = {}
    for number, one in enumerate(judged):
        groups.setdefault((one.subject, one.has_keywords), []).append(number)
    print(f"\n{name:9} probability  precision  recall  lists below 80 %  empty")
    for form, has_keywords in (("title", False), ("keywords", True)):
        members = [np.array(rows) for (_, own), rows in groups.items() if own == has_keywords]
        for least in (*PROBABILITIES, None):
            listed = [rows[chances[rows] >= (least or least_chance(chances[rows], is_broad=False))] for rows in members]
            first = [rows[np.argsort(-chances[rows], kind="stable")][:N_FIRST] for rows in listed]
            precision = np.array([is_on[rows].mean() for rows in first if len(rows)])
            recall = [
                is_on[one].sum() / is_on[rows].sum()
                for one, rows in zip(listed, members, strict=True)
                if is_on[rows].any()
            ]
            n_empty = sum(not len(rows) for rows in listed)
            print(
                f"{form:9} {least or 'as listed':>11}  {precision.mean():9.3f}  {np.mean(recall):6.3f}  "
                f"{(precision < 0.8).sum():9d} of {len(precision)}  {n_empty:5d}"
            )


def write_trees(judged: Sequence[Judged], columns: Sequence[str]) -> None:
    """Put the trees in the place of those that the app uses."""
    words = [column for column in columns if not column.startswith("vectors: ")]
    record = {"words": tree_record(judged, words), "vectors": tree_record(judged, columns)}
    Path(str(TREES_FILE)).write_text(json.dumps(record, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main()
