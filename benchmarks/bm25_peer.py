"""Plain BM25 by another implementation (bm25s), and its crude feedback: what our search is compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.retrieval.engine.protocol import IndexPage
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from real_sample import JudgedTopic


class Bm25Peer:
    """BM25 with k1 0.9 and b 0.4 over title × 3 and text; queries are the title and the first 10 keywords."""

    def __init__(self, pages: Sequence[IndexPage], engine: TantivyEngine) -> None:
        import bm25s

        self.engine = engine
        self.page_ids = np.array([page.page_id for page in pages])
        self.tokens = [engine.analyse("text", f"{page.title} {page.title} {page.title} {page.text}") for page in pages]
        self.bm25 = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
        self.bm25.index(self.tokens, show_progress=False)
        n_with = Counter(word for words in self.tokens for word in set(words))
        self.idf = {word: np.log1p((len(pages) - n + 0.5) / (n + 0.5)) for word, n in n_with.items()}

    def scores(self, weights: dict[str, float]) -> NDArray[np.float64]:
        known = {word: weight for word, weight in weights.items() if word in self.idf}
        parts = [weight * self.bm25.get_scores([word]) for word, weight in known.items()]
        return np.sum(parts, axis=0, dtype=np.float64) if parts else np.zeros(len(self.page_ids))

    def query(self, topic: Topic) -> dict[str, float]:
        return dict(Counter(self.engine.analyse("text", " ".join([topic.title, *topic.keywords[:10]]))))

    def plain(self, judged: JudgedTopic) -> list[int]:
        return self.window(self.scores(self.query(judged.topic)), judged)

    def with_feedback(self, judged: JudgedTopic, n_pages: int = 10, n_words: int = 20) -> list[int]:
        """Rocchio: the 20 words with the highest mean tf · idf in the first 10 pages, half the weight of the query."""
        query = self.query(judged.topic)
        first = np.argsort(-self.scores(query), kind="stable")[:n_pages]
        tf_idf: Counter[str] = Counter()
        for at in first:
            words = self.tokens[at]
            for word, n in Counter(words).items():
                tf_idf[word] += n / len(words) * self.idf[word]
        new = dict(tf_idf.most_common(n_words))
        share = sum(query.values()) / sum(new.values())
        widened = Counter(query)
        widened.update({word: weight * share for word, weight in new.items()})
        return self.window(self.scores(widened), judged)

    def window(self, scores: NDArray[np.float64], judged: JudgedTopic) -> list[int]:
        inside = self.page_ids <= judged.up_to_page_id
        order = np.lexsort((self.page_ids, -np.where(inside, scores, -np.inf)))
        return self.page_ids[order][:1000].tolist()
