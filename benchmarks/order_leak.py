"""What the order of a list reveals about gender: whoever compares it with plain search learns something about those who
move.

python benchmarks/order_leak.py [--people N]

Makes people whose words say nothing about their gender (one in five is a woman, as in Wikipedia's biographies), lists
of all of them with and without a goal for gender, and measures how well the change of rank tells women from men: the
area under the ROC curve, 0.5 for a coin and 1 for certainty. The last row leaves gender out and must be a coin.

Then an attacker who knows half of the people pastes one of the others beside twelve known men, and again beside twelve
known women: the difference of both ranks ("padded") is what a reader learns who chooses the members of lists.

At last the attacker saves the same search several times, draws from each, and judges the other half by the known people
at the same ranks: of the same draws of the other searches ("linked"), and of all draws.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.app.lists.work_list import make_list
from evenrank.app.searches.draws import UNNAMED, make_draw
from evenrank.app.searches.saved_search import load_search, make_search, save_search
from evenrank.app.settings import WebSettings
from evenrank.app.state import AppState, open_state
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.import_files import ImportFiles, import_collection

REGIONS = ("Africa", "Asia", "Europe", "Northern America", "Oceania")
SHARE_OF_WOMEN = 0.2
N_SEARCHES, N_DRAWS = 8, 20
"""Searches of one question that the attacker saves, and draws from each."""
N_PADDING, N_PADDED = 12, 200
"""Known people of one gender in a pasted list, and people who are judged by such lists."""
CASES: dict[str, dict[str, Any]] = {
    "region and gender, usual goal, even": {},
    "region and gender, usual goal, strongest": {"fairness": 10},
    "region and gender, equal goal, strongest": {"goal": "equal", "fairness": 10},
    "gender alone, usual goal, even": {"dimensions": ["gender"]},
    "gender alone, equal goal, strongest": {"dimensions": ["gender"], "goal": "equal", "fairness": 10},
    "region alone, usual goal, even": {"dimensions": ["geography"]},
}


def make_people(folder: Path, n_people: int, seed: int) -> tuple[Path, NDArray[np.bool_]]:
    """A collection of people, and which of them are women; the order of their ids says nothing about it."""
    rng = np.random.default_rng(seed)
    women = rng.random(n_people) < SHARE_OF_WOMEN
    with (folder / "metadata.jsonl").open("w") as metadata, (folder / "corpus.jsonl").open("w") as corpus:
        for person in range(n_people):
            record = {
                "page_id": person + 1,
                "quality_score": float(rng.random()),
                "quality_score_disc": "Stub",
                "geographic_locations": [str(rng.choice(REGIONS))],
                "gender": ["female" if women[person] else "male"],
            }
            metadata.write(json.dumps(record) + "\n")
            words = "sculptor " * int(rng.integers(1, 20)) + "bronze " * int(rng.integers(5, 60))
            text = f"Person {person} is a sculptor. {words}"
            corpus.write(json.dumps({"id": person + 1, "title": f"Person {person}", "url": "", "text": text}) + "\n")
    files = ImportFiles(metadata=folder / "metadata.jsonl", corpus=folder / "corpus.jsonl")
    collection = import_collection(folder / "collection", files)
    build_index(collection, FaultLog(), n_threads=1).close()
    return collection.path, women


def ranks_of(state: AppState, **fields: Any) -> NDArray[np.intp]:
    """The rank of each person in a list."""
    question = state.parse_question({"title": "Sculptors", "keywords": ["sculptor", "bronze"], "best": "FA", **fields})
    page_ids = make_list(state, question).page_ids
    ranks = np.empty(len(page_ids), np.intp)
    ranks[page_ids - 1] = np.arange(len(page_ids))
    return ranks


def area_under_curve(scores: NDArray[np.float64], is_in: NDArray[np.bool_]) -> float:
    """Chance that one who is in has a higher score than one who is not; ties count half."""
    difference = scores[is_in][:, None] - scores[~is_in]
    return float((difference > 0).mean() + 0.5 * (difference == 0).mean())


def attack_padded(state: AppState, women: NDArray[np.bool_], seed: int, **fields: Any) -> float:
    """How well the rank beside known men and that beside known women tell the gender of one more person."""
    is_known = np.random.default_rng((seed, 1)).random(len(women)) < 0.5
    paddings = [np.flatnonzero(is_known & is_in)[:N_PADDING].tolist() for is_in in (~women, women)]
    judged = np.flatnonzero(~is_known)[:N_PADDED]
    ranks = np.empty((len(judged), len(paddings)))
    for at, person in enumerate(judged.tolist()):
        for side, padding in enumerate(paddings):
            titles = "\n".join(f"Person {member}" for member in [*padding, person])
            sources = [{"kind": "titles", "role": "in", "text": titles}]
            question = state.parse_question({"title": "Our people", "best": "FA", "sources": sources, **fields})
            ranks[at, side] = np.flatnonzero(make_list(state, question).page_ids == person + 1)[0]
    return area_under_curve(ranks[:, 1] - ranks[:, 0], women[judged])


def attack_draws(state: AppState, women: NDArray[np.bool_], seed: int, **fields: Any) -> tuple[float, float]:
    """How well draws tell women from men of the unknown half: by equal ranks of equal draws, and by ranks alone."""
    asked = {"title": "Sculptors", "keywords": ["sculptor", "bronze"], "best": "FA", **fields}
    is_known = np.random.default_rng((seed, 1)).random(len(women)) < 0.5
    shown = []
    for _ in range(N_SEARCHES):
        search = load_search(state.store, save_search(state.store, make_search(state, state.parse_question(asked)), ""))
        if search is None:
            raise RuntimeError("the search was not kept")
        shown.append([make_draw(state, search, UNNAMED).page_ids - 1 for _ in range(N_DRAWS)])
    people = np.array(shown)  # search, draw, rank
    known, known_women = is_known[people].astype(np.float64), (is_known & women)[people].astype(np.float64)
    share = float(women[is_known].mean())
    found = []
    for axes in ((0,), (0, 1)):
        rest = [part.sum(axes, keepdims=True) - part for part in (known_women, known)]
        chance = (rest[0] + share) / (rest[1] + 1.0)
        evidence, n_shown = np.zeros(len(women)), np.zeros(len(women))
        np.add.at(evidence, people, np.log(chance + 0.02) - np.log(1.02 - chance))
        np.add.at(n_shown, people, 1.0)
        is_guessed = (n_shown > 0) & ~is_known
        found.append(area_under_curve((evidence / np.maximum(n_shown, 1.0))[is_guessed], women[is_guessed]))
    return found[0], found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    found: dict[str, list[float]] = {case: [] for case in CASES}
    padded: dict[str, list[float]] = {case: [] for case in CASES}
    in_draws: dict[str, list[tuple[float, float]]] = {case: [] for case in CASES}
    for seed in range(options.seeds):
        with tempfile.TemporaryDirectory() as name:
            path, women = make_people(Path(name), options.people, seed)
            state = open_state(path, WebSettings(store=Path(name) / "desk.sqlite", relevance_floor=0.0))
            plain = ranks_of(state, fairness=0, dimensions=["geography"])
            for case, fields in CASES.items():
                moved = plain - ranks_of(state, **fields)
                found[case].append(area_under_curve(moved.astype(np.float64), women))
                padded[case].append(attack_padded(state, women, seed, **fields))
                in_draws[case].append(attack_draws(state, women, seed, **fields))
            state.close()
    for title, results in (("the change of rank", found), ("the rank in padded lists", padded)):
        print(f"{'goal':<42} AUC of {title} ({options.people} people, {options.seeds} seeds)")
        for case, values in results.items():
            print(f"{case:<42} {np.mean(values):.2f}  ({min(values):.2f} to {max(values):.2f})")
        print()
    print(f"{'goal':<42} AUC in draws of {N_SEARCHES} searches, {N_DRAWS} each: linked, by rank alone")
    for case, pairs in in_draws.items():
        linked, by_rank = np.mean(pairs, axis=0)
        print(f"{case:<42} {linked:.2f}  {by_rank:.2f}")


if __name__ == "__main__":
    main()
