"""Real articles: how far draws and lists keep to a subject, at every strength of fairness that the web app offers.

    python benchmarks/subjects.py DIR [--draws 100]

DIR is a collection of `../shared/data/wikipedia-sample` with an index; its topics say how far they were judged. A page
is on topic if its title or first 800 characters name the subject (the patterns below). The first four subjects were
looked at when `reach` and the calibration on judged windows were made; the others were not.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from evenrank.app.articles.candidates import find_for
from evenrank.app.fairness.balance import list_exposure
from evenrank.app.lists.work_list import make_list
from evenrank.app.request.question import Question
from evenrank.app.searches.draws import make_draw
from evenrank.app.searches.saved_search import load_search, make_search, save_search
from evenrank.app.settings import WebSettings
from evenrank.app.state import AppState, open_state
from evenrank.core.rng import derive
from evenrank.measures.awrf import awrf
from evenrank.policies.optimal import Optimal
from evenrank.policies.policy import Request
from real_sample import SAMPLE

SUBJECTS: dict[str, tuple[tuple[str, ...], str]] = {
    "Nigerian history": (
        ("Nigeria", "Benin Empire", "Sokoto Caliphate", "Biafra", "Yoruba", "Igbo", "Hausa"),
        r"nigeri|biafra|yoruba|igbo\b|hausa|benin empire|sokoto|lagos",
    ),
    "Chess": (("chess", "grandmaster", "chess opening", "checkmate"), r"chess"),
    "Jazz music": (("jazz", "bebop", "saxophone", "swing"), r"jazz|bebop|saxoph|swing"),
    "Indian cinema": (
        ("Bollywood", "Indian film", "Hindi film", "Tamil film"),
        r"bollywood|(indian|hindi|tamil|telugu|malayalam|kannada|bengali|marathi)[^.]{0,60}(film|cinema|actor|actress)"
        r"|film[^.]{0,60}(india|hindi|tamil|telugu|malayalam)",
    ),
    "Tour de France": (("Tour de France", "cycling", "cyclist"), r"cycl|tour de france"),
    "Opera": (("opera", "opera singer", "libretto", "soprano"), r"\bopera|soprano|libretto|tenor"),
}
STRENGTHS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--draws", type=int, default=100)
    options = parser.parse_args()
    texts = read_openings()
    with tempfile.TemporaryDirectory() as folder:
        state = open_state(options.folder, WebSettings(store=Path(folder) / "desk.sqlite"))
        rows = [measure(state, texts, title, options.draws) for title in SUBJECTS]
        state.close()
    print(
        "\n| strength | on topic of 50 | on-topic pages shown | EE-L | relevance kept | AWRF@10 | AWRF@50 | nDCG kept |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for place, strength in enumerate(STRENGTHS):
        cells = np.mean([row[place] for row in rows], axis=0)
        print(f"| {strength:g} | {cells[0]:.1f} | " + " | ".join(f"{value:.3f}" for value in cells[1:]) + " |")


def read_openings() -> dict[int, str]:
    """Title and first words of every article."""
    with gzip.open(SAMPLE / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = (json.loads(line) for line in lines)
        return {record["id"]: f"{record['title']} {record['text'][:800]}" for record in records}


def measure(state: AppState, texts: dict[int, str], title: str, n_draws: int) -> list[tuple[float, ...]]:
    """Numbers of one subject, one tuple for each strength; prints what draws of the app are like."""
    keywords, pattern = SUBJECTS[title]
    about = re.compile(pattern, re.IGNORECASE | re.DOTALL)
    question = Question(title, keywords)
    candidates, target = find_for(state, question, 2)
    is_on = np.array([bool(about.search(texts.get(int(page), ""))) for page in candidates.page_ids])
    most = np.sort(candidates.relevance)[::-1][:50].mean()
    rows = []
    for strength in STRENGTHS:
        found = Optimal(fairness=strength).rank(candidates, target, Request(2, n_draws, 50), derive(0))
        shown = np.unique(found.positions)
        listed = make_list(state, replace(question, fairness=max(strength, 1e-9)))
        balance = [fairness_at(state, listed.page_ids[:depth], listed.target) for depth in (10, 50)]
        rows.append(
            (
                50.0 * float(is_on[found.positions].mean()),
                float(is_on[shown].sum() / max(is_on.sum(), 1)),
                found.certificate["EE-L"],
                found.certificate["expected_precision"] / most,
                *balance,
                listed.certificate["relevance_share"],
            )
        )
    drawn = app_draws(state, question, n_draws)
    on_topic = np.mean([bool(about.search(texts.get(int(page), ""))) for page in drawn.reshape(-1)])
    print(
        f"{title}: {is_on.sum()} of {len(is_on)} candidates on topic; in a draw of the app {50 * on_topic:.1f} of 50, ",
        end="",
    )
    print(f"{len(np.unique(drawn))} articles in {n_draws} draws", flush=True)
    return rows


def app_draws(state: AppState, question: Question, n_draws: int) -> np.ndarray:
    """Draws as editors get them."""
    search = load_search(state.store, save_search(state.store, make_search(state, question), "benchmark"))
    if search is None:
        raise RuntimeError("the search was not kept")
    return np.array([make_draw(state, search, str(number)).page_ids for number in range(n_draws)])


def fairness_at(state: AppState, page_ids: np.ndarray, target: np.ndarray) -> float:
    """AWRF of the head of a list, what is unknown left out."""
    exposure = list_exposure(state.collection, page_ids, state.collection.space(), Question("Any"))[1:]
    wanted = target[1:] / max(float(target[1:].sum()), 1e-12)
    return float(awrf(exposure, wanted)) if exposure.sum() > 0 else 0.0


if __name__ == "__main__":
    main()
