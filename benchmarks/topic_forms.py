"""The forms that topics come in: keywords cut short, or lengthened with machine-made ones as in the topics of 2022."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenrank.core.rng import derive
from evenrank.retrieval.engine.protocol import Engine, IndexPage
from evenrank.retrieval.query.topic_query import split_words
from evenrank.retrieval.word_lists import word_list
from real_sample import JudgedTopic

N_SOURCES = 2
"""Relevant pages that machine-made keywords are drawn from; they leave the judgments of every arm."""
N_LONG = 30


@dataclass(frozen=True)
class FormedTopic:
    """A judged topic in every form, and the pages that do not count."""

    judged: JudgedTopic
    forms: dict[str, JudgedTopic]
    sources: tuple[int, ...]
    """Pages that keywords were drawn from; empty for a topic with too few relevant pages, which has no long form."""


def form_topics(topics: Sequence[JudgedTopic], articles: Sequence[IndexPage], engine: Engine) -> list[FormedTopic]:
    """Each topic as it is, with 0, 1 and 3 of its keywords (drawn at random), and with 30."""
    texts = {page.page_id: page.text[:3000] for page in articles}
    return [_form(judged, texts, engine) for judged in topics]


def _form(judged: JudgedTopic, texts: dict[int, str], engine: Engine) -> FormedTopic:
    rng = derive(5, "forms", judged.topic.id)
    keywords = [judged.topic.keywords[at] for at in rng.permutation(len(judged.topic.keywords)).tolist()]
    forms = {"as given": judged}
    for n in (0, 1, 3):
        forms[str(n)] = _with_keywords(judged, tuple(keywords[:n]))
    sources: tuple[int, ...] = ()
    if len(judged.relevant) > N_SOURCES:
        sources = tuple(sorted(rng.choice(judged.relevant, N_SOURCES, replace=False).tolist()))
        made = drawn_keywords([texts[page] for page in sources], engine)
        forms[str(N_LONG)] = _with_keywords(judged, tuple(dict.fromkeys([*judged.topic.keywords, *made]))[:N_LONG])
    return FormedTopic(judged, forms, sources)


def _with_keywords(judged: JudgedTopic, keywords: tuple[str, ...]) -> JudgedTopic:
    return replace(judged, topic=replace(judged.topic, keywords=keywords))


def drawn_keywords(texts: Sequence[str], engine: Engine) -> list[str]:
    """Words of some texts by falling (1 + log tf) · idf: noisy, as keywords drawn from a project's articles are."""
    stop = word_list("stop_words")
    counts = Counter(word for text in texts for word in split_words(text))
    words = sorted(word for word in counts if len(word) > 3 and word not in stop and not word.isdigit())
    stems = [(engine.analyse("text", word) or [""])[0] for word in words]
    frequencies = engine.document_frequencies("text", stems)
    n_pages = engine.statistics().n_pages
    weights = {
        word: np.log1p(counts[word]) * np.log(n_pages / max(n_with, 1))
        for word, n_with in zip(words, frequencies, strict=True)
    }
    return sorted(words, key=lambda word: (-weights[word], word))[:N_LONG]
