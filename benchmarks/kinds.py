"""Is the kind of thing that a title names worth a feature? Measured where titles name kinds, and where they do not.

    python benchmarks/kinds.py

The 57 real training topics inside their judged windows, and categories of the dump that gensim carries as topics (at
least two of its 106 articles; their names name kinds more often, "Countries in Africa"). To the untrained sums of
words, and of words and vectors, are added: a bonus for pages of the kind, by first sentence, title and name of the
infobox; and a penalty for biographies where the kind is none of people. The third try leaves the weight of the kind to
`learn`, in five folds. P@10 and R-precision, or mean average precision, and the difference, paired, with its standard
error.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collections_elsewhere import average_precision, index_of, load_collections
from evenrank.core.records import Topic
from evenrank.retrieval.encode.dense import DenseScorer, usual_encoders
from evenrank.retrieval.encode.encoder import Encoder
from evenrank.retrieval.engine.protocol import Engine, Hits
from evenrank.retrieval.features import FeatureExtractor, Features, untrained_weights, weighted_sum
from evenrank.retrieval.learn.cross_validation import LearningSettings, Sample, cross_fit
from evenrank.retrieval.query.people import are_biographies, are_of_kind, asks_for_people, kind_of_title
from real_sample import cache_folder, has_sample, load_articles, load_topics, sample_engine
from relevance import DEPTH, lexical_model, measures

WEIGHTS = (0.5, 1.0)


class Extractor(FeatureExtractor):
    """Features with two more: pages of the kind that the title names, and biographies where it names none of people."""

    def features(self, topic: Topic, found: Hits) -> Features:
        return super().features(topic, found) | self.kinds(topic, found.page_ids)

    def kinds(self, topic: Topic, pages: NDArray[np.int32]) -> Features:
        if not kind_of_title(topic.title, self.engine) or asks_for_people(topic, self.engine):
            return {"kind": np.zeros(len(pages)), "other": np.zeros(len(pages))}
        titles = ["" if page is None else page.title for page in self.engine.stored(pages.tolist())]
        of_kind = are_of_kind(self.engine, topic, pages, titles).astype(np.float64)
        return {"kind": of_kind, "other": are_biographies(self.engine, pages).astype(np.float64)}


def open_extractor(engine: Engine, folder: Path) -> Extractor:
    """Words and the encoders on this machine, with vectors of all pages."""
    scorers = [DenseScorer.open(engine, Encoder(settings), folder) for settings in usual_encoders(None)]
    for scorer in scorers:
        scorer.encode(engine.page_ids())
    return Extractor(lexical_model(engine), scorers[0], second=dict(enumerate(scorers)).get(1))


def arms(features: Features) -> dict[str, NDArray[np.float64]]:
    """Scores of the pages by each way of ranking."""
    found = {}
    for name, weights in (("words", {"words": 1.0, "people": 2.5}), ("hybrid", untrained_weights(features))):
        for label, more in (("", {}), *((f" + {w:g} × kind", {"kind": w}) for w in WEIGHTS)):
            found[name + label] = weighted_sum(features, weights | more)
        found[f"{name} − 1 × biography"] = weighted_sum(features, weights | {"other": -1.0})
    return found


def ranked(scores: NDArray[np.float64], pages: NDArray[np.int32]) -> list[int]:
    order: list[int] = pages[np.lexsort((pages, -scores))].tolist()
    return order


def show(rows: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """Each way of ranking, beside the one without kinds that its name begins with."""
    for name, values in rows.items():
        table, base = np.array(values), np.array(rows[name.split()[0]])
        gains = table - base
        errors = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
        parts = (f"{m:.3f} ({g:+.3f} ± {e:.3f})" for m, g, e in zip(table.mean(0), gains.mean(0), errors, strict=True))
        print(f"  {name:28s}{'   '.join(parts)}", flush=True)


def real_topics() -> None:
    articles = load_articles()
    topics = load_topics({page.page_id for page in articles})
    extractor = open_extractor(sample_engine(articles), cache_folder())
    rows: dict[str, list[Sequence[float]]] = {}
    samples, pages_of = [], []
    for judged in topics:
        found = extractor.candidates(judged.topic, DEPTH, judged.up_to_page_id)
        features = extractor.features(judged.topic, found)
        samples.append(Sample(judged.topic.id, features, np.isin(found.page_ids, judged.relevant)))
        pages_of.append(found.page_ids)
        for name, scores in arms(features).items():
            rows.setdefault(name, []).append(measures(ranked(scores, found.page_ids), judged)[:2])
    relevant = [sample for sample in samples if sample.labels.any()]
    for name, names in (("learned", extractor.names), ("learned with kinds", (*extractor.names, "kind"))):
        fit = cross_fit(relevant, names, LearningSettings())
        for judged, sample, pages in zip(topics, samples, pages_of, strict=True):
            order = ranked(fit.scores(judged.topic.id, sample.features), pages)
            rows.setdefault(name, []).append(measures(order, judged)[:2])
    n_named = sum(bool(sample.features["other"].any()) for sample in samples)
    print(f"57 real topics, {n_named} name a kind of thing that is none of people; P@10, R-precision")
    show(rows)


def categories() -> None:
    wiki = next(each for each in load_collections("categories", fewest=2) if each.language == "en")
    with tempfile.TemporaryDirectory() as folder:
        extractor = open_extractor(index_of(wiki.pages, wiki.language), Path(folder))
        rows: dict[str, list[Sequence[float]]] = {}
        named = [topic for topic in wiki.topics if kind_of_title(topic.title, extractor.engine)]
        for topic in named:
            found = extractor.candidates(topic, DEPTH)
            for name, scores in arms(extractor.features(topic, found)).items():
                rows.setdefault(name, []).append([average_precision(ranked(scores, found.page_ids), topic)])
    print(f"\n{len(named)} of {len(wiki.topics)} {wiki.name} name a kind; mean average precision of these")
    show(rows)


if __name__ == "__main__":
    if not has_sample():
        sys.exit("skipped: the real sample ../shared/data/wikipedia-sample is not there")
    real_topics()
    categories()
