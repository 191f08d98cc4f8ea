"""Which of the pages that a search found are about its subject: for queries and for the web app.

Search always finds as many pages as it is asked for. Those that are not about the subject must not fill groups of which
it has few pages, so a policy is not shown them at all; a list that must be longer has them below everything else.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import UNKNOWN_MASK
from evenrank.core.records import Topic
from evenrank.core.types import Floats
from evenrank.ranking.sources import Found, SearchSource
from evenrank.retrieval.engine.protocol import Engine, Restriction
from evenrank.retrieval.query.evidence import Evidence, Reasons, find_evidence, keyword_parts, names_among
from evenrank.retrieval.query.past import are_past, asks_for_past
from evenrank.retrieval.query.people import are_biographies, are_of_kind, asks_for_people, named_kinds
from evenrank.retrieval.query.topic_query import split_words, subject_words
from evenrank.retrieval.relevance import LexicalModel, RelevanceModel
from evenrank.trec.arrays import names_at
from evenrank.trec.collection import Collection

CHOSEN = tomllib.loads(files("evenrank.ranking").joinpath("subject.toml").read_text("utf-8"))
RELEVANCE_FLOOR: float = CHOSEN["relevance_floor"]
"""Share of the best match below which a page is not about the subject."""
TEXT_ONLY: float = CHOSEN["text_only"]
"""How many times better a page must match that has a keyword in its text, and none in its lead, to be on topic."""
FEWEST_FIT: int = CHOSEN["fewest_fit"]
"""Articles that are what a title asks for, beyond its words, from which on the others are left out: sovereign immunity
is not about vaccination."""
FEWEST_OF_KIND: int = CHOSEN["fewest_of_kind"]
"""Articles about things of the kind that the title names, from which on articles that only name such a thing are left
out: a draw can be filled without them."""
FEWEST_AS_A_WHOLE: int = CHOSEN["fewest_as_a_whole"]
"""Articles with all words of a query, from which on one of its words alone is not enough. Two words, or words that
are written as a name, are one subject however few articles have them."""
OF_TITLE: float = CHOSEN["of_title"]
"""Share of the pages with a word of the title, of those whose region is known, from which on it names their region."""
OF_KEYWORD: float = CHOSEN["of_keyword"]
"""The same for keywords, where the title names that region."""
FEWEST_OF_REGION: int = CHOSEN["fewest_of_region"]
"""Pages of a known region that say which region a word names."""
FEWEST_LEFT: int = CHOSEN["fewest_left"]
"""Pages that must be left when those outside the region of the title are left out."""
DISAMBIGUATION = re.compile(rf"\(({'|'.join(map(re.escape, CHOSEN['disambiguation'].values()))})\)$")


class OnSubject(NamedTuple):
    """The pages that are about a subject."""

    found: Found
    reasons: Reasons
    """Beside the pages."""
    is_evident: bool
    """Whether any page has a keyword where it must; if none has, all that match well enough were kept."""


def keep_to_subject(
    collection: Collection,
    engine: Engine,
    topic: Topic,
    found: Found,
    matches: Floats,
    floor: float = RELEVANCE_FLOOR,
    *,
    always: Sequence[int] = (),
) -> OnSubject:
    """The pages that are about a topic, with reasons; those with a keyword in the text only are less likely.

    `matches` say how well each page matches its words (`word_matches`). A floor of 0 leaves out nothing but pages that
    are no articles. Pages of `always` are about the topic whatever they say.
    """
    best = float(matches.max(initial=0.0))
    is_always = np.isin(found.page_ids, always)
    if floor > 0:
        near = np.flatnonzero((matches >= floor * best) | is_always)
        found, matches, is_always = found.take(near), matches[near], is_always[near]
    titles = collection.titles_of(found.page_ids.tolist())
    evidence = find_evidence(engine, topic, found.page_ids, titles)
    is_kept = np.ones(len(found), bool)
    is_evident = True
    if floor > 0:
        for is_fit, fewest in _narrowed(collection, engine, topic, found, titles, evidence):
            if (is_fit & (evidence.in_text | evidence.in_lead)).sum() >= fewest:
                evidence = evidence._replace(in_text=evidence.in_text & is_fit, in_lead=evidence.in_lead & is_fit)
        evidence = keep_to_region(collection, topic, found.page_ids, titles, evidence, engine.layout.language)
        is_about = are_about(matches, evidence, TEXT_ONLY * floor * best)
        is_evident = bool(is_about.any())
        is_kept = is_about | is_always if is_evident else is_kept
        factor = np.where(evidence.in_lead | is_always, 1.0, CHOSEN["text_only_relevance"])
        found = replace(found, relevance=factor * found.relevance)
    kept = np.flatnonzero(is_kept & are_articles(titles))
    return OnSubject(found.take(kept), evidence.reasons.at(kept), is_evident)


def _narrowed(
    collection: Collection, engine: Engine, topic: Topic, found: Found, titles: Sequence[str], evidence: Evidence
) -> Iterator[tuple[NDArray[np.bool_], int]]:
    """What a title asks for beyond its words, the widest demand first: which of the pages fit, and how many must.

    Keywords mean what the title does; what a title says is past is past; people are people, and things are none; what
    is not of the kind that the title names has two of the keywords, or is left out.
    """
    yield evidence.has_name, FEWEST_FIT
    yield evidence.is_confirmed, FEWEST_FIT
    if asks_for_past(topic.title):
        yield are_past(engine, topic.title, found.page_ids, titles), FEWEST_FIT
    if named_kinds(topic, engine):
        classes = names_at(collection.classes, collection.rows_of(found.page_ids))
        is_of_kind = are_of_kind(engine, topic, found.page_ids, titles, classes)
        is_person = are_biographies(engine, found.page_ids) == asks_for_people(topic, engine)
        yield is_person, FEWEST_FIT
        yield is_person & (is_of_kind | evidence.has_two_in_lead), FEWEST_FIT
        yield is_of_kind, FEWEST_OF_KIND


def keep_to_region(
    collection: Collection,
    topic: Topic,
    page_ids: NDArray[np.int32],
    titles: Sequence[str],
    evidence: Evidence,
    language: str,
) -> Evidence:
    """The evidence where the title names a region: Korean footballers are no Brazilian football.

    A word names a region if nearly all pages with it in their lead are about that region, whatever the language. Title
    or lead of a page must have such a word; if title and keywords also have others ("football", "footballer"), its text
    must have one of those, too.
    """
    masks = collection.masks.get("geography")
    if masks is None or not evidence.words_in_lead:
        return evidence
    known = masks[collection.rows_of(page_ids)]
    of_word = {word: _one_region(known[has]) for word, has in evidence.words_in_lead.items()}
    of_title = keyword_parts(replace(topic, keywords=()), language).get(topic.title, ())
    regions = {region for word in of_title for region, share in (of_word[word],) if share >= OF_TITLE}
    if not regions or _one_region(masks)[1] >= OF_KEYWORD:
        return evidence
    naming = {word for word, (region, share) in of_word.items() if region in regions and share >= OF_KEYWORD}
    everything = frozenset(CHOSEN["about_everything"].get(language, ()))
    others = {word for word in of_word if word not in naming and word not in everything and of_word[word][0]}
    has_others = np.ones(len(page_ids), bool)
    if others & set(of_title) and others - set(of_title):
        has_others = np.logical_or.reduce([evidence.words_in_text[word] for word in sorted(others)])
    keywords = [words for text, words in keyword_parts(topic, language).items() if text != topic.title]
    names = [words for words in ([word] for word in of_title) if naming & set(words)]
    names += [list(words) for words in keywords if naming & set(words)]
    lead = evidence.words_in_lead
    is_named = np.logical_or.reduce([np.logical_and.reduce([lead[word] for word in words]) for words in names])
    in_title = [not naming.intersection(of_title).isdisjoint(split_words(title, language)) for title in titles]
    is_fit = (is_named | np.array(in_title, bool)) & has_others
    if (is_fit & evidence.in_lead).sum() < FEWEST_LEFT:
        return evidence
    return evidence._replace(in_text=evidence.in_text & is_fit, in_lead=evidence.in_lead & is_fit)


def _one_region(masks: NDArray[np.unsignedinteger]) -> tuple[int, float]:
    """The region of most pages among those whose region is known, and their share; 0 where too few are known."""
    known = masks[masks != UNKNOWN_MASK]
    if len(known) < FEWEST_OF_REGION:
        return 0, 0.0
    shares = [float((known >> bit & 1).mean()) for bit in range(1, int(known.max()).bit_length())]
    return int(np.argmax(shares)) + 1, max(shares)


def are_about(matches: Floats, evidence: Evidence, least: float) -> NDArray[np.bool_]:
    """Whether each page is about a subject: a keyword in its lead, or in its text and a match of `least` or better."""
    return evidence.in_lead | (evidence.in_text & (matches >= least))


def are_articles(titles: Sequence[str]) -> NDArray[np.bool_]:
    """Whether each page is one that can be worked on; a page that only tells meanings of a word apart is not."""
    return np.array([not DISAMBIGUATION.search(title) for title in titles], bool)


class DividedPages(NamedTuple):
    """What a query found: the pages that a policy may rank, and those that may only follow them."""

    found: Found
    below: Found
    """The other pages, in the order by relevance."""
    n_on_subject: int
    """0 where no page is clearly about the subject; `found` is then everything."""


def divide_by_subject(collection: Collection, source: SearchSource, topic: Topic, found: Found) -> DividedPages:
    """The pages that are about a query, and the others.

    A query without a title of its own is one subject ("Tour de France") if enough articles have all of its words; else
    each word is a keyword ("Nigeria Biafra Lagos Yoruba").
    """
    if not len(found):
        return DividedPages(found, found, 0)
    model = source.model()
    matches = word_matches(model, topic, found)
    as_a_whole = replace(topic, keywords=())
    for asked, fewest in ((as_a_whole, _fewest_as_a_whole(topic, model.engine)), (topic, 1)):
        kept = keep_to_subject(collection, model.engine, asked, found, matches)
        if kept.is_evident and len(kept.found) >= fewest:
            others = np.flatnonzero(~np.isin(found.page_ids, kept.found.page_ids))
            return DividedPages(kept.found, found.take(others), len(kept.found))
    return DividedPages(found, found.take(np.empty(0, np.intp)), 0)


def _fewest_as_a_whole(topic: Topic, engine: Engine) -> float:
    """How many pages must have all words of a query for it to be one subject; never for one with a title or commas."""
    if topic.title.split() != list(topic.keywords):
        return np.inf
    language = engine.layout.language
    words = subject_words(topic.title, is_name=True, language=language)
    return 1 if len(words) <= 2 or names_among(topic, language) else FEWEST_AS_A_WHOLE


def word_matches(model: RelevanceModel, topic: Topic, found: Found) -> Floats:
    """How well pages match the words of a topic. Scores of models that do more than match words have no zero, so that a
    share of the best one means nothing; below even odds, no page would have it."""
    if isinstance(model, LexicalModel):
        return found.scores
    hits = LexicalModel(model.engine).search(topic, len(found), Restriction(page_ids=found.page_ids.tolist()))
    order = np.argsort(found.page_ids)
    matches = np.zeros(len(found))
    matches[order[np.searchsorted(found.page_ids[order], hits.page_ids)]] = hits.scores
    return matches
