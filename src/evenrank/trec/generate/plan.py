"""The plan of a collection: themes, which pages are about, how frequent each is in each group, the quality mixture.

Some themes are topics, the rest is background.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from evenrank.core.rng import derive
from evenrank.errors import EvenrankError
from evenrank.trec.dimensions import GEOGRAPHY
from evenrank.trec.generate import tables
from evenrank.trec.generate.names import place_names
from evenrank.trec.generate.settings import ALL_GROUPS, GenerateSettings, GroupValues

CONTINENTS = GEOGRAPHY.groups
"""Continents in the order of their published counts (`tables/groups.csv`); the first is Unknown."""
N_JARGON = 60
"""Invented terms of a theme."""


@dataclass(frozen=True, slots=True)
class Theme:
    """A subject with its words, and how it leans."""

    title: str
    subject: str
    roles: tuple[str, ...]
    things: tuple[str, ...]
    fields: tuple[str, ...]
    sites: tuple[str, ...]
    jargon: tuple[str, ...]
    """Invented terms, seldom among the keywords: what feedback can find."""
    people: float
    """Factor on the share of biographies."""
    women: float
    """Factor on the share of women."""
    home: tuple[str, ...]
    """Continents that are more frequent than elsewhere."""


def make_themes(settings: GenerateSettings) -> tuple[Theme, ...]:
    """Themes of the topics in topic order (titles ascend within a split), then background themes."""
    titles = _titles(settings)
    n_train = settings.n_train_topics
    n_topics = settings.n_topics
    ordered = sorted(titles[:n_train]) + sorted(titles[n_train:n_topics]) + titles[n_topics:]
    return tuple(_theme(settings.seed, *title) for title in ordered)


def _titles(settings: GenerateSettings) -> list[tuple[str, str, str]]:
    """(title, subject, home continent or "") in random order, plain subjects first; enough for all topics."""
    rng = derive(settings.seed, "titles")
    subjects = list(tables.toml("subjects"))
    plain = [(subject, subject, "") for subject in subjects]
    variants = [
        (pattern.format(subject=subject, continent=continent), subject, continent if "{continent}" in pattern else "")
        for subject, pattern in product(subjects, tables.toml("topics")["variants"])
        for continent in (CONTINENTS[1:] if "{continent}" in pattern else ("",))
        if continent != "Antarctica"
    ]
    if settings.n_topics > len(plain) + len(variants):
        raise EvenrankError(
            f"{settings.n_topics:,} topics are too many (at most {len(plain) + len(variants):,} can be made)"
        )
    shuffled = [plain[i] for i in rng.permutation(len(plain))]
    return shuffled + [variants[i] for i in rng.permutation(len(variants))[: max(0, settings.n_topics - len(plain))]]


def _theme(seed: int, title: str, subject: str, continent: str) -> Theme:
    """The theme of one title: the table's words in an order of its own, and its own synthetic terms."""
    entry = tables.toml("subjects")[subject]
    rng = derive(seed, "theme", title)
    region = continent or CONTINENTS[rng.integers(1, len(CONTINENTS))]
    return Theme(
        title=title,
        subject=subject,
        **{kind: _shuffled(entry[kind], rng) for kind in ("roles", "things", "fields", "sites")},
        jargon=tuple(place_names(region, N_JARGON, rng)),
        people=entry["people"],
        women=entry["women"],
        home=(continent,) if continent else tuple(entry["home"]),
    )


def _shuffled(words: list[str], rng: np.random.Generator) -> tuple[str, ...]:
    return tuple(words[i] for i in rng.permutation(len(words)))


GENDERS = ("unknown", "female", "male", "third")
"""Gender groups in the order of the published counts."""
TRAIN_PER_PAGE, EVAL_PER_PAGE, BACKGROUND_PER_PAGE = 0.55, 0.45, 0.25
"""Themes of each sort that a page has on average."""
MAX_SHARE = {"train": 0.03, "eval": 0.02}
"""No topic covers more of the pages than this on average, however few the topics are."""
MIN_RELEVANT = 10
"""Relevant pages that a topic of a small collection has on average."""
POOLED_SHARE = 0.65
"""Part of the relevant pages that assessors find, on average."""
DISTRACTORS = 0.65
"""Pages that mention a theme without belonging to it, for each page that belongs (median over themes)."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Everything that the blocks of pages share."""

    settings: GenerateSettings
    themes: tuple[Theme, ...]
    cell_cumulated: NDArray[np.float64]
    """Cumulated shares of the 32 cells, continent by gender."""
    cell_rates: NDArray[np.float64]
    """Expected number of themes of a page, by cell, distractors included."""
    theme_cumulated: NDArray[np.float64]
    """cell × (belonging to theme …, mentioning theme …), cumulated per cell and shifted by the cell's number."""
    quality_tilt: NDArray[np.float64]
    """Shift of the latent quality, by continent: where Wikipedia has fewer editors, articles are shorter and vaguer."""
    retrieval_bias: NDArray[np.float64]
    """Shift of the logit of what texts show of their themes, by cell."""
    unknown_geography: NDArray[np.float64]
    """Share of pages whose metadata lack their continent, by continent."""
    unknown_gender: NDArray[np.float64]
    """The same for gender."""
    quality_knots: tuple[NDArray[np.float64], NDArray[np.float64]]
    """Latent quality (standard normal) and quality score at the class borders."""


@lru_cache(maxsize=2)
def plan_collection(settings: GenerateSettings) -> Plan:
    """The plan that follows from the settings."""
    themes = make_themes(settings)
    groups = tables.table_rows("groups")
    counts = np.array([[float(row[gender]) for gender in GENDERS] for row in groups]).ravel()
    cells = counts / counts.sum()
    rates = theme_rates(settings, themes, cells)
    totals = rates.sum(axis=1)
    return Plan(
        settings=settings,
        themes=themes,
        cell_cumulated=np.cumsum(cells),
        cell_rates=totals,
        theme_cumulated=np.cumsum(rates, axis=1) / totals[:, None] + np.arange(len(cells))[:, None],
        quality_tilt=np.array([float(row["quality_tilt"]) for row in groups]),
        retrieval_bias=np.add.outer(
            _by_group(settings.retrieval_bias, CONTINENTS), _by_group(settings.retrieval_bias, GENDERS)
        ).ravel(),
        unknown_geography=_by_group(settings.unknown, CONTINENTS),
        unknown_gender=_by_group(settings.unknown, GENDERS),
        quality_knots=_quality_knots(),
    )


def _by_group(given: GroupValues, groups: Sequence[str]) -> NDArray[np.float64]:
    """The value of each group: its own, else that of all groups, else 0; always 0 where the group is unknown."""
    values = dict(given)
    return np.array([0.0, *(values.get(group, values.get(ALL_GROUPS, 0.0)) for group in groups[1:])])


def theme_rates(
    settings: GenerateSettings, themes: tuple[Theme, ...], cells: NDArray[np.float64]
) -> NDArray[np.float64]:
    """cell × (theme, then theme as a distractor): expected number of such pages per page of the cell."""
    rng = derive(settings.seed, "rates")
    shares = theme_shares(settings, len(themes), rng)
    leaning = np.array([_leaning(theme, rng).ravel() for theme in themes])
    belonging = shares[:, None] * leaning / (leaning @ cells)[:, None]
    mentions = DISTRACTORS * rng.lognormal(0, 0.6, len(themes))[:, None] * belonging
    return np.concatenate([belonging, mentions]).T


def theme_shares(settings: GenerateSettings, n_themes: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Expected part of all pages that belongs to each theme: log-normal sizes around the mean of its sort."""
    n_train = settings.n_train_topics
    n_eval = settings.n_eval_topics
    n_rest = n_themes - n_train - n_eval
    train = _total_share(settings.train_total, settings.tagged_share, settings, n_train, "train")
    evaluation = _total_share(settings.eval_total, POOLED_SHARE, settings, n_eval, "eval")
    return np.concatenate(
        [
            _sizes(n_train, train, 0.6, rng),
            _sizes(n_eval, evaluation, 0.5, rng),
            _sizes(n_rest, BACKGROUND_PER_PAGE, 0.4, rng),
        ]
    )


def _total_share(judgments: int | None, found: float, settings: GenerateSettings, n_topics: int, split: str) -> float:
    """Memberships per page over all topics of a split, enough for the judgments that are asked for."""
    if judgments is not None:
        return 1.02 * judgments / found / settings.n_pages
    per_page = TRAIN_PER_PAGE if split == "train" else EVAL_PER_PAGE
    at_least = min(0.25, MIN_RELEVANT / settings.n_pages)
    return max(min(per_page, MAX_SHARE[split] * n_topics), at_least * n_topics)


def _sizes(n: int, total: float, spread: float, rng: np.random.Generator) -> NDArray[np.float64]:
    weights = rng.lognormal(0, spread, n)
    return weights * (total / weights.sum()) if n else weights


def _leaning(theme: Theme, rng: np.random.Generator) -> NDArray[np.float64]:
    """continent × gender: how much more frequent the theme is in each cell than by chance."""
    continents = rng.lognormal(0, 0.7, len(CONTINENTS))
    continents[[CONTINENTS.index(name) for name in theme.home]] *= rng.uniform(3, 9)
    women = theme.women * rng.lognormal(0, 0.3)
    genders = np.array([1, theme.people * women, theme.people, theme.people])
    leaning: NDArray[np.float64] = continents[:, None] * genders
    return leaning


def _quality_knots() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Latent values and scores between which scores are interpolated: classes are sixths of the score."""
    pages = np.array([float(row["pages"]) for row in tables.table_rows("quality")])
    inner = np.cumsum(pages)[:-1] / pages.sum()
    latent = [-3.5, *(NormalDist().inv_cdf(part) for part in inner), 3.5]
    return np.array(latent), np.array([0.08, *(np.arange(1, 6) / 6), 0.999])
