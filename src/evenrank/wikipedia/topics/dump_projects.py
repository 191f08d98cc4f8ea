"""What a dump knows of projects: its articles, banners on talk pages, categories, and the pages about projects."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.io.articles import ArticleFile
from evenrank.io.content import RawBatch
from evenrank.io.corpus import DumpPage, Site, parse_pages
from evenrank.io.faults import FaultLog
from evenrank.parallel import map_batches
from evenrank.progress import progress_bar
from evenrank.wikipedia.annotate.inline import LinkFields, Namespaces, resolve_links, site_names, split_hidden
from evenrank.wikipedia.annotate.wikitext import parse_wikitext
from evenrank.wikipedia.topics.projects import PageList, Project, make_project, usual_class

ARTICLE, TALK, PROJECT, TEMPLATE, CATEGORY = 0, 1, 4, 10, 14
"""Numbers of namespaces, the same in every wiki."""
SCOPE_HEADINGS = ("scope", "goals")
"""Sections of a project's page that say what it is about; the first words of a page without them do."""
MAX_SCOPE = 1000
"""Characters of a scope."""
MAX_NESTING = 6
"""Templates inside templates that are looked into on a talk page."""
SHELLS = ("banner shell", "bannershell", "wikiprojectbanners", "wpbs")
"""What the names of templates contain that hold the banners of several projects and give the class for all."""
_TEMPLATE = re.compile(r"\{\{([^{}|]+)(\|[^{}]*)?\}\}")
_HIDDEN_CATEGORY = "__HIDDENCAT__"
_IMPORTANCE = ("importance", "priority")


class TalkBanner(NamedTuple):
    """A template on a talk page."""

    name: str
    quality: str
    importance: str


@dataclass
class DumpFacts:
    """What one part of a dump, or all of it, says."""

    article_ids: list[int] = field(default_factory=list)
    ids_by_title: dict[str, int] = field(default_factory=dict)
    """Articles by title; empty where nothing has to be looked up."""
    scopes: dict[str, str] = field(default_factory=dict)
    """Scope by title of the page about a project or category."""
    banners: list[tuple[str, int, tuple[TalkBanner, ...]]] = field(default_factory=list)
    """Title of the article, revision of the talk page, templates on it."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Redirects of templates."""
    members: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    """Articles with their categories."""
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Categories by category; hidden ones are left out."""
    hidden: set[str] = field(default_factory=set)
    faults: FaultLog = field(default_factory=FaultLog)
    n_file_bytes: int = 0

    def merge(self, other: DumpFacts) -> None:
        """Add what a later part of the dump says."""
        self.article_ids += other.article_ids
        self.ids_by_title |= other.ids_by_title
        self.scopes |= other.scopes
        self.banners += other.banners
        self.renamed |= other.renamed
        self.members += other.members
        self.parents |= other.parents
        self.hidden |= other.hidden
        self.faults.merge(other.faults)
        self.n_file_bytes = other.n_file_bytes


@dataclass(frozen=True)
class DumpReader:
    """Reads what is wanted of a part of a dump; a function that any process can call."""

    site: Site
    prefix: str
    """What the titles of pages about projects, and names of banners, begin with: `WikiProject`."""
    has_banners: bool = False
    has_categories: bool = False

    def __call__(self, batch: RawBatch) -> DumpFacts:
        facts = DumpFacts(n_file_bytes=batch.n_file_bytes)
        wanted = {ARTICLE, PROJECT}
        wanted |= {TALK, TEMPLATE} if self.has_banners else set()
        wanted |= {CATEGORY} if self.has_categories else set()
        for page in parse_pages(batch, frozenset(wanted), facts.faults):
            self._read(page, facts)
        return facts

    def _read(self, page: DumpPage, facts: DumpFacts) -> None:
        if page.redirect is not None:
            if page.namespace == TEMPLATE and page.redirect:
                facts.renamed[template_name(page.title, self.site)] = template_name(page.redirect, self.site)
        elif page.namespace == ARTICLE:
            self._read_article(page, facts)
        elif page.namespace == TALK:
            if banners := tuple(talk_banners(page.text, self.site)):
                facts.banners.append((_without_namespace(page.title), page.revision, banners))
        elif page.namespace == CATEGORY:
            self._read_category(page, facts)
        elif page.namespace == PROJECT and _without_namespace(page.title).startswith(self.prefix):
            facts.scopes[page.title] = project_scope(page.text, site_names(self.site))

    def _read_article(self, page: DumpPage, facts: DumpFacts) -> None:
        facts.article_ids.append(page.page_id)
        if self.has_banners:
            facts.ids_by_title[page.title] = page.page_id
        if self.has_categories and (categories := page_categories(page.text, site_names(self.site))):
            facts.members.append((page.page_id, categories))

    def _read_category(self, page: DumpPage, facts: DumpFacts) -> None:
        name = _without_namespace(page.title)
        facts.parents[name] = page_categories(page.text, site_names(self.site))
        facts.scopes[page.title] = project_scope(page.text, site_names(self.site))
        if _HIDDEN_CATEGORY in page.text:
            facts.hidden.add(name)


def read_dump(source: ArticleFile, reader: DumpReader, n_workers: int | None = None) -> DumpFacts:
    """What a dump says, from one pass over it, by several processes; a bar shows how much of the file was read."""
    facts = DumpFacts()
    with closing(progress_bar(source.size_bytes, "projects", "B", scale=True)) as bar:
        for part in map_batches(reader, source.raw_batches(facts.faults), n_workers):
            bar.update(part.n_file_bytes - facts.n_file_bytes)
            facts.merge(part)
    return facts


def banner_projects(facts: DumpFacts, reader: DumpReader) -> list[Project]:
    """Projects by the banners on talk pages: templates whose name, redirects followed, begins with the prefix."""
    lists: defaultdict[str, PageList] = defaultdict(PageList)
    for title, revision, banners in facts.banners:
        page_id = facts.ids_by_title.get(title)
        if page_id is None:
            continue
        named = [(facts.renamed.get(banner.name, banner.name), banner) for banner in banners]
        shared = next((banner.quality for name, banner in named if is_shell(name) and banner.quality), "")
        for name, banner in named:
            if project := project_name(name, reader.prefix):
                lists[project].add(page_id, revision, banner.quality or shared, banner.importance)
    return [
        make_project(title, homepage, pages, facts.scopes.get(homepage, ""))
        for title, pages in sorted(lists.items())
        for homepage in [project_page(title, reader)]
    ]


def category_projects(facts: DumpFacts, reader: DumpReader, depth: int) -> list[Project]:
    """Categories as projects, each with the articles in it and in its subcategories down to `depth`.

    Page ids stand for time, because no dump says when a page came into a category: newer articles have larger ones.
    """
    direct: defaultdict[str, list[int]] = defaultdict(list)
    for page_id, categories in facts.members:
        for category in categories:
            direct[category].append(page_id)
    children: defaultdict[str, set[str]] = defaultdict(set)
    for child, parents in facts.parents.items():
        for parent in parents:
            children[parent].add(child)
    space = dict(reader.site.namespaces).get(CATEGORY, "Category")
    projects = []
    for title in sorted(set(direct) | set(children)):
        if title in facts.hidden:
            continue
        pages = PageList()
        for category in _with_descendants(title, children, depth):
            for page_id in direct.get(category, ()):
                pages.add(page_id, page_id)
        homepage = f"{space}:{title}"
        projects.append(make_project(title, homepage, pages, facts.scopes.get(homepage, "")))
    return [project for project in projects if len(project.page_ids)]


def _with_descendants(title: str, children: defaultdict[str, set[str]], depth: int) -> Iterator[str]:
    """A category and those below it, breadth first, each once: categories may form circles."""
    seen, current = {title}, [title]
    for _ in range(depth + 1):
        yield from current
        current = sorted({child for name in current for child in children.get(name, ())} - seen)
        seen.update(current)


def project_page(title: str, reader: DumpReader) -> str:
    """Title of the page about a project: `Wikipedia:WikiProject Chess`."""
    space = dict(reader.site.namespaces).get(PROJECT, "Wikipedia")
    return f"{space}:{reader.prefix} {title}"


def project_name(template: str, prefix: str) -> str:
    """The project that a banner belongs to; empty for another template."""
    if not template.startswith(f"{prefix} ") or "/" in template or is_shell(template):
        return ""
    return template.removeprefix(prefix).strip()


def is_shell(template: str) -> bool:
    """Whether a template holds the banners of several projects."""
    return any(name in template.casefold() for name in SHELLS)


def talk_banners(text: str, site: Site) -> Iterator[TalkBanner]:
    """The templates of a talk page with class and importance, those inside others first."""
    visible = split_hidden(text).text
    for _ in range(MAX_NESTING):
        if "{{" not in visible:
            return
        for found in _TEMPLATE.finditer(visible):
            values = _arguments(found[2] or "")
            importance = next((values[name] for name in _IMPORTANCE if values.get(name)), "")
            name = template_name(found[1], site)
            yield TalkBanner(name, usual_class(values.get("class", "")), usual_class(importance))
        visible = _TEMPLATE.sub("", visible)


def _arguments(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split("|") if "=" in part)
    return {name.strip().casefold(): value.strip() for name, _, value in pairs}


def template_name(title: str, site: Site) -> str:
    """The name of a template as MediaWiki writes it, without the namespace."""
    name = " ".join(title.replace("_", " ").split())
    space, colon, rest = name.partition(":")
    if colon and space.casefold() in {"template", dict(site.namespaces).get(TEMPLATE, "Template").casefold()}:
        name = rest.strip()
    return name[:1].upper() + name[1:]


def page_categories(text: str, namespaces: Namespaces) -> tuple[str, ...]:
    """The categories that a page says it is in, as MediaWiki writes them."""
    fields = LinkFields(namespaces)
    resolve_links(split_hidden(text).text, fields)
    names = (" ".join(name.split()) for name in fields.categories)
    return tuple(dict.fromkeys(name[:1].upper() + name[1:] for name in names if name))


def project_scope(text: str, namespaces: Namespaces) -> str:
    """What a page says about the scope of its project: the section of that name, else its first words."""
    page = parse_wikitext(text, namespaces)
    named = [
        section.text
        for wanted in SCOPE_HEADINGS
        for section in page.sections
        if section.text and wanted in section.title.casefold()
    ]
    found = " ".join((named or [page.lead])[0].split())
    if len(found) <= MAX_SCOPE:
        return found
    return found[:MAX_SCOPE].rpartition(" ")[0] or found[:MAX_SCOPE]


def _without_namespace(title: str) -> str:
    return title.partition(":")[2].strip()


def sorted_ids(ids: Iterable[int]) -> NDArray[np.int32]:
    """Page ids, ascending, each once."""
    return np.unique(np.fromiter(ids, np.int32))
