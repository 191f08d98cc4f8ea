"""What a few marks of people change: a simulated reader of real topics who marks five pages at a time, from the top.

    python benchmarks/marks.py [--words]

The 57 real training topics inside their judged windows; the reader's marks are the judgments. Prints P@50 and recall@50
after 0, 5, 10 and 20 marks, beside the same list without learning from the marks (marked pages take their places, the
rest stays as it was). The weight of marks was chosen on these topics, so read the gain as optimistic.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import numpy as np

from evenrank.search.encode.dense import DenseScorer
from evenrank.search.encode.encoder import Encoder
from evenrank.search.features import FeatureExtractor
from evenrank.search.hybrid import HybridModel
from evenrank.search.query.marks import Marks, MarkSettings, search_with_marks
from evenrank.search.relevance import RelevanceModel
from real_sample import JudgedTopic, cache_folder, has_sample, load_articles, load_topics, sample_engine
from relevance import DEPTH, lexical_model

N_AT_ONCE = 5
N_MARKS = (0, 5, 10, 20)


def read_down(model: RelevanceModel, judged: JudgedTopic, settings: MarkSettings) -> list[tuple[float, float]]:
    """P@50 and recall@50 after each number of marks."""
    relevant = set(judged.relevant.tolist())
    marks, found = Marks(), []
    for n in range(0, max(N_MARKS) + 1, N_AT_ONCE):
        pages = search_with_marks(model, judged.topic, marks, DEPTH, judged.up_to_page_id, settings).page_ids.tolist()
        if n in N_MARKS:
            n_hits = len(relevant & set(pages[:50]))
            found.append((n_hits / 50, n_hits / len(relevant)))
        fresh = [page for page in pages if page not in marks.relevant][:N_AT_ONCE]
        marks = replace(
            marks,
            relevant=(*marks.relevant, *(page for page in fresh if page in relevant)),
            not_relevant=(*marks.not_relevant, *(page for page in fresh if page not in relevant)),
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", action="store_true", help="without text vectors")
    options = parser.parse_args()
    if not has_sample():
        sys.exit("skipped: the real sample ../shared/data/wikipedia-sample is not there")
    articles = load_articles()
    topics = load_topics({page.page_id for page in articles})
    engine = sample_engine(articles)
    model: RelevanceModel = lexical_model(engine)
    if not options.words:
        dense = DenseScorer.open(engine, Encoder(), cache_folder())
        dense.encode(engine.page_ids())
        model = HybridModel(FeatureExtractor(lexical_model(engine), dense))
    print(f"{len(topics)} topics; P@50/recall@50 after marks: " + ", ".join(map(str, N_MARKS)))
    for name, settings in (
        ("marks only take their places", MarkSettings(weight=0.0)),
        ("marks change the ranking", None),
    ):
        table = np.mean([read_down(model, judged, settings or MarkSettings()) for judged in topics], axis=0)
        print(f"{name:32s}" + "  ".join(f"{p:.3f}/{r:.3f}" for p, r in table), flush=True)


if __name__ == "__main__":
    main()
