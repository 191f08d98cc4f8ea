"""`evenrank.make_topics`: topics from the projects of a wiki, as the track made its training topics.

Active projects with enough pages are chosen, those that share most of their pages with a more active one left out, and
split at random into training and held-out topics. Their page lists are the judgments. Such lists are incomplete: a page
without a tag is not a page that is not relevant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson

from evenrank.core.records import Article, Topic
from evenrank.core.rng import derive
from evenrank.core.types import FilePath
from evenrank.errors import Collected, EvenrankError, input_error
from evenrank.io.articles import map_articles, open_articles
from evenrank.io.atomic import atomic_folder
from evenrank.io.corpus import Site, page_address
from evenrank.io.faults import FaultLog
from evenrank.io.json_lines import write_records
from evenrank.io.judgment_record import sha256_of
from evenrank.io.topics import topic_record
from evenrank.wikipedia.topics.dump_projects import (
    DumpReader,
    banner_projects,
    category_projects,
    project_page,
    read_dump,
    sorted_ids,
)
from evenrank.wikipedia.topics.keywords import METHOD, Keyword, ProjectWords, WordReader, projects_of_pages
from evenrank.wikipedia.topics.projects import Project, read_assessments

KIND = "evenrank topics"
FILES = (
    "trec_topics.json.gz",
    "eval-topics.json.gz",
    "eval-topics-with-qrels.json.gz",
    "page-lists.tsv",
    "record.json",
)
"""What the folder holds: training topics, held-out topics without and with their pages, classes, how they were made."""
EVAL_STEP = 100
"""Ids of held-out topics begin after the next multiple, as those of the track did: 1 to 57, then 101."""
MAX_DEPTH = 3
Source = Literal["assessments", "banners", "categories"]
TIME_OF: dict[str, str] = {
    "assessments": "revision that tagged the page (pa_page_revision)",
    "banners": "newest revision of the talk page",
    "categories": "page id: newer articles have larger ones",
    "api": "page id: newer articles have larger ones",
}
"""What orders taggings by time, by source."""


@dataclass(frozen=True)
class TopicSettings:
    """How topics are chosen and described."""

    prefix: str = "WikiProject"
    """What the names of banners, and the titles of pages about projects, begin with."""
    depth: int = 0
    """Levels of subcategories whose articles count, for categories."""
    n_topics: int = 100
    """Topics to make, the most active projects first."""
    held_out: float = 0.5
    """Share of the topics that are held out."""
    min_pages: int = 20
    """Fewest pages of a project."""
    recent: float = 0.1
    """Share of all taggings that counts as recent."""
    min_recent: int = 1
    """Fewest recent taggings of a project; more make it more active."""
    max_overlap: float = 0.5
    """Largest share of a project's pages that a more active project may have."""
    n_keywords: int = 10
    n_characters: int = 5000
    """Characters of each article that keywords are drawn from."""
    n_articles: int = 200
    """Articles of a project whose text is asked of a wiki's API, where no corpus is given."""
    prior_articles: float = 100.0
    """Articles that the prior of the keywords is worth."""
    only: tuple[str, ...] = ()
    """Titles of the projects to choose from; by default all."""
    seed: int = 0


@dataclass(frozen=True)
class MadeTopics:
    """The topics that were made."""

    path: Path
    """Folder with the files."""
    topics: tuple[Topic, ...]
    counts: dict[str, int]
    """Projects read, and how many were left after each choice."""
    notes: tuple[str, ...] = ()
    """What is odd but not wrong."""


@dataclass(frozen=True)
class _Read:
    """What the sources say."""

    projects: list[Project]
    site: Site
    source: str
    notes: list[str] = field(default_factory=list)


def make_topics(
    output: FilePath,
    *,
    corpus: FilePath | None = None,
    page_assessments: FilePath | None = None,
    projects: FilePath | None = None,
    source: Source | None = None,
    api: str | None = None,
    contact: str = "",
    settings: TopicSettings | None = None,
    workers: int | None = None,
) -> MadeTopics:
    """Topics in the official format in the folder `output`, for `collection import --topics` and `--eval-topics`.

    Projects come from the SQL dumps `page_assessments` and `projects` of the extension PageAssessments, or, by
    `source`, from `banners` on the talk pages or from `categories` of the dump `corpus`; or, with `api` (the address of
    an api.php) and a `contact`, from the banners of a running wiki. Keywords are drawn from the articles of `corpus`,
    or from those of the wiki. The same inputs and settings give the same bytes.
    """
    chosen = settings or TopicSettings()
    named = {
        "corpus": None if corpus is None else Path(corpus),
        "page_assessments": None if page_assessments is None else Path(page_assessments),
        "projects": None if projects is None else Path(projects),
    }
    source = source or ("assessments" if page_assessments is not None else "banners")
    _check(named, source, api, chosen)
    with _open_wiki(api, contact) as client:
        if client is not None:
            from evenrank.wikipedia.topics.wiki_projects import wiki_projects, wiki_site

            site = wiki_site(client)
            read = _Read(wiki_projects(client, site, chosen.prefix, chosen.only), site, "api")
        else:
            read = _read_files(named, source, chosen, workers)
        kept, counts = choose_projects(read.projects, chosen)
        articles = _article_words(named["corpus"], client, kept, read, chosen, workers)
        words = ProjectWords(projects_of_pages([project.page_ids.tolist() for project in kept]), len(kept))
        for batch in articles:
            words.add(batch)
    keywords = [words.keywords(at, chosen.n_keywords, chosen.prior_articles) for at in range(len(kept))]
    topics = _topics(kept, keywords, read.site, chosen)
    record = _record(read, chosen, counts, topics, kept, keywords, [path for path in named.values() if path], api)
    _write(Path(output), topics, kept, record)
    return MadeTopics(Path(output), tuple(topics), counts, tuple(_notes(read, topics, words)))


def _check(files: dict[str, Path | None], source: Source, api: str | None, settings: TopicSettings) -> None:
    """All that is wrong with a request, at once."""
    faults = Collected()
    has_sql = files["page_assessments"] is not None
    if has_sql != (files["projects"] is not None):
        faults.add(["page_assessments and projects belong together (give both SQL dumps)"])
    if has_sql and (api is not None or source != "assessments"):
        faults.add(
            ["page assessments, banners or categories of a dump, and a wiki's API exclude each other (give one source)"]
        )
    if source == "assessments" and not has_sql:
        faults.add(["no page_assessments (give the SQL dumps, or banners or categories as the source)"])
    if api is not None and source == "categories":
        faults.add(["a wiki's API is read by banners (for categories give a dump as the corpus)"])
    if api is None and files["corpus"] is None:
        faults.add(["no corpus (give the wiki's dump, or the address of its api.php)"])
    faults.add(_wrong_settings(settings))
    faults.raise_any()
    missing = FaultLog()
    for path in files.values():
        if path is not None and not path.is_file():
            missing.add(path, 0, "a folder" if path.is_dir() else "no such file", "name a file")
    missing.raise_if_any()


def _wrong_settings(settings: TopicSettings) -> Iterator[str]:
    least = {"n_topics": 1, "min_pages": 1, "min_recent": 0, "n_keywords": 1, "n_characters": 1, "n_articles": 1}
    for name, bound in least.items():
        if getattr(settings, name) < bound:
            yield f"{name} is {getattr(settings, name)} (give at least {bound})"
    for name, low, high in (("held_out", 0.0, 1.0), ("recent", 0.0, 1.0), ("max_overlap", 0.0, 1.0)):
        if not low <= getattr(settings, name) <= high:
            yield f"{name} is {getattr(settings, name):g} (give {low:g} to {high:g})"
    if not 0 <= settings.depth <= MAX_DEPTH:
        yield f"depth is {settings.depth} (give 0 to {MAX_DEPTH})"
    if not settings.prior_articles > 0.0:
        yield f"prior_articles is {settings.prior_articles:g} (give more than 0)"
    if not settings.prefix.strip():
        yield "the prefix is empty (give what the names of banners begin with)"


@contextmanager
def _open_wiki(api: str | None, contact: str) -> Iterator[Any]:
    """A client of the wiki; None without one."""
    if api is None:
        yield None
        return
    from evenrank.wikipedia.mediawiki.client import WikiClient
    from evenrank.wikipedia.mediawiki.settings import WikiSettings

    with WikiClient(WikiSettings(api, contact)) as client:
        yield client


def _read_files(files: dict[str, Path | None], source: Source, settings: TopicSettings, workers: int | None) -> _Read:
    """The projects that files tell of, with those of their pages that are articles of the corpus."""
    corpus, assessments, titles = files["corpus"], files["page_assessments"], files["projects"]
    assert corpus is not None
    opened = open_articles(corpus)
    if source != "assessments" and opened.kind != "dump":
        raise input_error(corpus, 0, f"a corpus of JSON lines, which has no {source}", "give a MediaWiki XML dump")
    reader = DumpReader(opened.site, settings.prefix, source == "banners", source == "categories")
    listed: list[Project] = []
    orphans = FaultLog()
    if assessments is not None and titles is not None:
        listed, orphans = read_assessments(assessments, titles, lambda title: project_page(title, reader))
    faults = FaultLog()
    scopes: dict[str, str] = {}
    if opened.kind == "dump":
        facts = read_dump(opened, reader, workers)
        article_ids, faults, scopes = sorted_ids(facts.article_ids), facts.faults, facts.scopes
        if source == "banners":
            listed = banner_projects(facts, reader)
        elif source == "categories":
            listed = category_projects(facts, reader, settings.depth)
    else:
        batches = map_articles(_page_ids, opened, faults, label="pages", n_workers=workers)
        article_ids = sorted_ids(page_id for batch in batches for page_id in batch.result)
    if faults.is_cut_off:
        faults.raise_if_any()
    faults.merge(orphans)
    found = [project.pages_in(article_ids) for project in listed]
    found = [replace(one, scope=one.scope or scopes.get(one.homepage, "")) for one in found]
    return _Read(found, opened.site, source, faults.report().splitlines())


def _page_ids(articles: tuple[Article, ...]) -> list[int]:
    return [article.page_id for article in articles]


def choose_projects(projects: Sequence[Project], settings: TopicSettings) -> tuple[list[Project], dict[str, int]]:
    """The most active projects, and how many there were at each step.

    A tagging is recent if it belongs to the newest share of all taggings; the activity of a project is the number of
    its recent ones. A project most of whose pages a more active one has is left out, so that no held-out topic is a
    part of a training topic.
    """
    wanted = {title.casefold() for title in settings.only}
    missing = wanted - {project.title.casefold() for project in projects}
    if missing:
        raise EvenrankError(f"no project of the title {', '.join(sorted(missing))} (projects read: {len(projects):,})")
    times = np.concatenate([np.empty(0, np.int64), *(project.times for project in projects)])
    first = np.quantile(times, 1.0 - settings.recent, method="higher") if len(times) else 0
    candidates = [project for project in projects if not wanted or project.title.casefold() in wanted]
    large = [project for project in candidates if len(project.page_ids) >= settings.min_pages]
    activity = {project.title: int(np.count_nonzero(project.times >= first)) for project in large}
    active = [project for project in large if activity[project.title] >= settings.min_recent]
    active.sort(key=lambda project: (-activity[project.title], -len(project.page_ids), project.title))
    kept: list[Project] = []
    n_overlapping = 0
    for project in active:
        if len(kept) == settings.n_topics:
            break
        if any(_overlap(project, other) > settings.max_overlap for other in kept):
            n_overlapping += 1
        else:
            kept.append(project)
    counts = {"projects": len(projects), "large": len(large), "active": len(active), "overlapping": n_overlapping}
    if not kept:
        raise EvenrankError(
            f"no topic: of {len(projects):,} projects {len(large):,} have {settings.min_pages} pages or more, and "
            f"{len(active):,} of these tagged pages recently (use a smaller min_pages or min_recent)"
        )
    return kept, {**counts, "chosen": len(kept)}


def _overlap(project: Project, other: Project) -> float:
    """Share of a project's pages that another has."""
    return float(np.isin(project.page_ids, other.page_ids).mean())


def _article_words(
    corpus: Path | None, client: Any, kept: Sequence[Project], read: _Read, settings: TopicSettings, workers: int | None
) -> Iterator[list[tuple[int, tuple[str, ...]]]]:
    """The words of articles, in batches: of all in the corpus, or of some of each project from the wiki."""
    reader = WordReader(read.site, settings.n_characters)
    if corpus is not None:
        for batch in map_articles(reader, open_articles(corpus), FaultLog(), label="keywords", n_workers=workers):
            yield batch.result
        return
    from evenrank.wikipedia.topics.wiki_projects import wiki_articles

    wanted: set[int] = set()
    for project in kept:
        order = derive(settings.seed, "articles", project.title).permutation(len(project.page_ids))
        wanted |= set(project.page_ids[order[: settings.n_articles]].tolist())
    for articles in wiki_articles(client, sorted(wanted)):
        yield reader(articles)


def _topics(
    kept: Sequence[Project], keywords: Sequence[Sequence[Keyword]], site: Site, settings: TopicSettings
) -> list[Topic]:
    """The topics in the order of the projects: training topics first."""
    n_held = round(settings.held_out * len(kept))
    held = set(derive(settings.seed, "held-out").permutation(len(kept))[:n_held].tolist())
    first_held = (len(kept) - n_held + EVAL_STEP) // EVAL_STEP * EVAL_STEP + 1
    ids = {at: 1 + place for place, at in enumerate(at for at in range(len(kept)) if at not in held)}
    ids |= {at: first_held + place for place, at in enumerate(sorted(held))}
    return [
        Topic(
            id=ids[at],
            title=project.title,
            keywords=tuple(keyword.word for keyword in keywords[at]),
            scope=project.scope,
            homepage=page_address(site, project.homepage),
            split="eval" if at in held else "train",
            rel_docs=project.page_ids,
        )
        for at, project in enumerate(kept)
    ]


def _notes(read: _Read, topics: Sequence[Topic], words: ProjectWords) -> Iterator[str]:
    yield from read.notes
    n, n_scopes, n_described = len(topics), sum(bool(t.scope) for t in topics), sum(bool(t.keywords) for t in topics)
    if n_scopes < n:
        yield f"{n - n_scopes:,} of {n:,} topics have no scope: no page about them was found, or it has no text"
    if n_described < n:
        yield f"{n - n_described:,} of {n:,} topics have no keywords among {words.n_articles:,} articles"


def _record(
    read: _Read,
    settings: TopicSettings,
    counts: dict[str, int],
    topics: Sequence[Topic],
    kept: Sequence[Project],
    keywords: Sequence[Sequence[Keyword]],
    files: Sequence[Path],
    api: str | None,
) -> dict[str, Any]:
    """How the topics were made; nothing in it depends on the day or the machine."""
    return {
        "kind": KIND,
        "evenrank": version("evenrank"),
        "source": read.source,
        "wiki": api or read.site.base_url,
        "files": [{"name": path.name, "size_bytes": path.stat().st_size, "sha256": sha256_of(path)} for path in files],
        "settings": asdict(settings),
        "time": TIME_OF[read.source],
        "keywords": METHOD,
        "judgments": "pages that the project tagged; a page without a tag may be relevant (learn --tagging-rate)",
        "counts": counts,
        "topics": [
            {
                "id": topic.id,
                "title": topic.title,
                "split": topic.split,
                "pages": len(project.page_ids),
                "keywords": [[keyword.word, round(keyword.z, 3), keyword.n_articles] for keyword in of_topic],
            }
            for topic, project, of_topic in zip(topics, kept, keywords, strict=True)
        ],
    }


def _write(output: Path, topics: Sequence[Topic], kept: Sequence[Project], record: dict[str, Any]) -> None:
    """The files, all of them or none; a folder of something else is never replaced."""
    if output.exists() and not (output.is_dir() and {entry.name for entry in output.iterdir()} <= set(FILES)):
        raise input_error(output, 0, "exists and holds something else", "name a new folder")
    by_id = sorted(zip(topics, kept, strict=True), key=lambda pair: pair[0].id)
    training = [topic_record(topic) for topic, _ in by_id if topic.split == "train"]
    held = [topic_record(topic) for topic, _ in by_id if topic.split == "eval"]
    bare = ("id", "title", "keywords", "scope")
    shown = [{name: topic[name] for name in bare if name in topic} for topic in held]
    by_file: dict[str, list[dict[str, Any]]] = dict(zip(FILES[:3], (training, shown, held), strict=True))
    with atomic_folder(output) as folder:
        for name, records in by_file.items():
            if records:
                write_records(folder / name, records)
        lines = (
            f"{topic.id}\t{page}\t{quality}\t{importance}\n"
            for topic, project in by_id
            for page, quality, importance in zip(
                project.page_ids.tolist(), project.classes, project.importances, strict=True
            )
        )
        (folder / FILES[3]).write_text("topic_id\tpage_id\tclass\timportance\n" + "".join(lines), "utf-8")
        (folder / FILES[4]).write_bytes(orjson.dumps(record, option=orjson.OPT_INDENT_2) + b"\n")
