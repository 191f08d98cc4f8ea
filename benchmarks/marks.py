"""What a few marks of people change: a simulated reader of real topics who marks five pages at a time, from the top.

    python benchmarks/marks.py

The 57 real training topics inside their judged windows, with their keywords and with the title alone; the reader's
marks are the judgments. Prints P@50 and recall@50 after 0, 5, 10 and 20 marks, beside the same list without learning
from the marks (marked pages take their places, the rest stays as it was), for the topics on which the weights of marks
were chosen (every second one) and for the others. A window has about seven relevant pages, so P@50 cannot exceed 0.14.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenrank.retrieval.encode.dense import DenseScorer
from evenrank.retrieval.encode.encoder import Encoder
from evenrank.retrieval.features import FeatureExtractor, HybridModel
from evenrank.retrieval.query.marks import Marks, MarkSettings, search_with_marks
from evenrank.retrieval.relevance import RelevanceModel
from real_sample import JudgedTopic, cache_folder, has_sample, load_articles, load_topics, sample_engine
from relevance import DEPTH, lexical_model

N_AT_ONCE = 5
N_MARKS = (0, 5, 10, 20)
UNLEARNED = MarkSettings(weight=0.0)


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


def show(name: str, model: RelevanceModel, topics: Sequence[JudgedTopic], settings: MarkSettings) -> None:
    table = np.mean([read_down(model, judged, settings) for judged in topics], axis=0)
    print(f"{name:64s}" + "  ".join(f"{p:.4f}/{r:.3f}" for p, r in table), flush=True)


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    if not has_sample():
        sys.exit("skipped: the real sample ../shared/data/wikipedia-sample is not there")
    articles = load_articles()
    topics = load_topics({page.page_id for page in articles})
    engine = sample_engine(articles)
    dense = DenseScorer.open(engine, Encoder(), cache_folder())
    dense.encode(engine.page_ids())
    lexical = lexical_model(engine)
    models: dict[str, RelevanceModel] = {"words": lexical, "hybrid": HybridModel(FeatureExtractor(lexical, dense))}
    best = np.mean([min(len(judged.relevant), 50) / 50 for judged in topics])
    print(f"P@50/recall@50 after {', '.join(map(str, N_MARKS))} marks; best possible P@50 {best:.4f}")
    for part, chosen in (("chosen on", topics[::2]), ("others", topics[1::2])):
        for form in ("keywords as given", "title alone"):
            formed = chosen if form == "keywords as given" else [without_keywords(judged) for judged in chosen]
            for name, model in models.items():
                for label, settings in (("not learned from", UNLEARNED), ("learned from", MarkSettings())):
                    show(f"{part} ({len(chosen)}), {form}, {name}, marks {label}", model, formed, settings)


def without_keywords(judged: JudgedTopic) -> JudgedTopic:
    return replace(judged, topic=replace(judged.topic, keywords=()))


if __name__ == "__main__":
    main()
