"""Words that a topic writes with accents: the index knows them without, so pages that spell another word come second.

Somebody who types Malmo means Malmö, and finds it. Somebody who types "Pão" does not mean Pao.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import numpy as np

from evenrank.core.records import Topic
from evenrank.retrieval.engine.analysis import fold
from evenrank.retrieval.engine.protocol import Engine, Hits

N_LOOKED_AT = 100
"""Pages, best first, whose spelling is looked at."""
OTHER_SPELLING = 0.8
"""What the score of a page is multiplied by that begins with the word in another spelling, and never in this one."""
_WORD = re.compile(r"\w+")


def prefer_accents(engine: Engine, topic: Topic, hits: Hits) -> Hits:
    """Hits in their new order if a word of the topic has accents; the same hits otherwise."""
    words = _spellings([topic.title, *topic.keywords])
    written = {word: fold(word) for word in words if fold(word) != word}
    if not written or not len(hits.page_ids):
        return hits
    factors = np.ones(len(hits.page_ids))
    for place, page in enumerate(engine.stored(hits.page_ids[:N_LOOKED_AT].tolist())):
        found = _spellings([page.title, page.opening]) if page else frozenset()
        folded = {fold(word) for word in found}
        if any(plain in folded and word not in found for word, plain in written.items()):
            factors[place] = OTHER_SPELLING
    scores = hits.scores * factors
    order = np.lexsort((hits.page_ids, -scores))
    return Hits(hits.page_ids[order], scores[order])


def _spellings(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word for text in texts for word in _WORD.findall(unicodedata.normalize("NFC", text).lower()))
