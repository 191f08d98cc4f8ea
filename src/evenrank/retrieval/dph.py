"""DPH, the parameter-free model of divergence from randomness that Terrier ranks with (the track's UoG runs)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from evenrank.core.records import Topic
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.protocol import CountingEngine, Engine, TextField, WeightedTerm, WordCounts
from evenrank.retrieval.learn.calibration import Calibration
from evenrank.retrieval.query.candidates import CandidateSettings, find_candidates
from evenrank.retrieval.query.topic_query import subject_words
from evenrank.retrieval.relevance import ScoredPages, probabilities

FIELD: TextField = "text"


def dph(counts: WordCounts, weights: Floats) -> Floats:
    """The DPH score of each page for words of these weights.

    With tf occurrences in a page of length l, f = tf / l and F occurrences in all N pages, a word adds
    (1 − f)² / (tf + 1) · (tf · log2(tf · mean length / l · N / F) + ½ log2(2π · tf · (1 − f))).
    (Amati, Frequentist and Bayesian approach to information retrieval, ECIR 2006; Amati et al., TREC 2007.)
    """
    tf = counts.in_pages
    has_word = tf > 0.0
    safe_tf = np.where(has_word, tf, 1.0)
    share = np.where(has_word, tf / np.maximum(counts.lengths, 1.0)[:, None], 0.5)
    share = np.minimum(share, 1.0 - 1e-9)  # a page that is one word: lengths in an index are rounded
    length = np.maximum(counts.lengths, 1.0)[:, None] / max(counts.mean_length, 1e-9)
    rarity = counts.n_pages / np.maximum(counts.in_all, 1.0)
    information = safe_tf * np.log2(safe_tf / length * rarity) + 0.5 * np.log2(2.0 * np.pi * safe_tf * (1.0 - share))
    scores = np.where(has_word, (1.0 - share) ** 2 / (safe_tf + 1.0) * information, 0.0)
    return np.asarray(scores @ weights)


@dataclass(frozen=True)
class DphModel:
    """Words of title and keywords by DPH over the whole text; candidates are those that BM25 finds first.

    Words are those of our index, not of Terrier's. Its lengths of pages are rounded to an eighth, and occurrences of
    very frequent words in all pages are projected from a thousand pages.
    """

    engine: Engine
    candidates: CandidateSettings = field(default_factory=CandidateSettings)
    calibration: Calibration | None = None
    """From scores to probabilities; None goes by rank."""

    def words(self, topic: Topic) -> Counter[str]:
        """The analysed words of a topic, and how often it has each."""
        language = self.engine.layout.language
        texts = (
            subject_words(topic.title, is_name=True, language=language),
            *(subject_words(keyword, is_name=False, language=language) for keyword in topic.keywords),
        )
        return Counter(word for text in texts for word in self.engine.analyse(FIELD, " ".join(text)))

    def score(self, topic: Topic, k: int, up_to_page_id: int | None = None) -> ScoredPages:
        """The best k pages and those of the groups; see `RelevanceModel.score`."""
        if not isinstance(self.engine, CountingEngine):
            raise EvenrankError("the model dph needs an index on this machine (run: evenrank index DIR)")
        words = self.words(topic)
        terms = [WeightedTerm(FIELD, (word,), float(n)) for word, n in words.items()]
        found = find_candidates(self.engine, terms, replace(self.candidates, n_pages=k), up_to_page_id)
        counts = self.engine.count_words(FIELD, list(words), found.page_ids.tolist())
        scores = dph(counts, np.array(list(words.values()), np.float64))
        order = np.lexsort((found.page_ids, -scores))
        return ScoredPages(
            found.page_ids[order], scores[order], probabilities(self.calibration, scores)[order], {"dph": scores[order]}
        )
