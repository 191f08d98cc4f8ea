"""A synthetic wiki with projects: an XML dump with talk pages, and the SQL dumps of PageAssessments."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

THEMES = {
    "Chess": "gambit endgame grandmaster bishop checkmate",
    "Lighthouses": "lantern keeper beacon fresnel headland",
    "Volcanoes": "magma crater eruption caldera basalt",
    "Beetles": "elytra larva weevil antennae thorax",
    "Bridges": "girder arch suspension viaduct abutment",
    "Operas": "soprano libretto aria overture baritone",
    "Comets": "perihelion coma nucleus orbit tail",
    "Castles": "moat keep drawbridge rampart siege",
}
"""Projects, and words of their articles."""
COMMON = (
    "history",
    "known",
    "first",
    "place",
    "world",
    "found",
    "century",
    "great",
    "named",
    "people",
    "large",
    "small",
)
N_PAGES = 30
"""Articles of each project."""
NAMESPACES = {0: "", 1: "Talk", 4: "Wikipedia", 6: "File", 10: "Template", 14: "Category"}
CLASSES, IMPORTANCES = ("Stub", "start", "C", "B", "GA"), ("Top", "high", "Mid", "Low")
ASSESSMENTS_HEAD = """-- MySQL dump 10.19  Distrib 10.3.38-MariaDB, for debian-linux-gnu (x86_64)
DROP TABLE IF EXISTS `page_assessments`;
CREATE TABLE `page_assessments` (
  `pa_page_id` int(10) unsigned NOT NULL,
  `pa_project_id` int(10) unsigned NOT NULL,
  `pa_class` varbinary(20) DEFAULT NULL,
  `pa_importance` varbinary(20) DEFAULT NULL,
  `pa_page_revision` int(10) unsigned NOT NULL,
  PRIMARY KEY (`pa_page_id`,`pa_project_id`),
  KEY `pa_project` (`pa_project_id`,`pa_page_id`)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
/*!40000 ALTER TABLE `page_assessments` DISABLE KEYS */;
"""
PROJECTS_HEAD = """CREATE TABLE `page_assessments_projects` (
  `pap_project_id` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `pap_project_title` varbinary(255) DEFAULT NULL,
  `pap_parent_id` int(10) unsigned DEFAULT NULL,
  PRIMARY KEY (`pap_project_id`),
  UNIQUE KEY `pap_project_title` (`pap_project_title`)
) ENGINE=InnoDB AUTO_INCREMENT=99 DEFAULT CHARSET=binary;
"""


@dataclass(frozen=True)
class SmallWiki:
    """The files, and what is true of them."""

    dump: Path
    page_assessments: Path
    projects: Path
    pages_of: dict[str, list[int]]


def write_wiki(folder: Path, seed: int = 0) -> SmallWiki:
    """A wiki of eight projects of thirty articles each; some talk pages and rows go wrong in the usual ways."""
    rng = np.random.default_rng(seed)
    pages, rows, talk = [], [], []
    pages_of: dict[str, list[int]] = {}
    page_id = 100
    for number, (name, theme) in enumerate(THEMES.items(), 1):
        pages_of[name] = []
        for at in range(N_PAGES):
            page_id += 1
            title, revision = f"{name} article {at}", 10_000 + page_id * 10
            pages_of[name].append(page_id)
            quality, importance = CLASSES[at % 5], IMPORTANCES[at % 4]
            pages.append(_page(page_id, 0, title, _prose(theme.split(), rng) + f"\n[[Category:{name}]]", revision))
            rows.append(f"({page_id},{number},'{quality}','{importance}',{revision})")
            banner = f"{{{{WikiProject {name}|importance={importance}}}}}"
            shell = (
                f"{{{{WikiProject banner shell|class={quality}|1=\n{banner}\n}}}} <!-- {{{{WikiProject Ghosts}}}} -->"
            )
            talk.append(
                _page(
                    page_id + 5000,
                    1,
                    f"Talk:{title}",
                    shell if at else shell.replace("WikiProject Chess", "WP Chess"),
                    revision,
                )
            )
        scope = f"Welcome.\n== Scope ==\nThis project covers [[{name.lower()}]] of all kinds.\n== Members ==\nNobody."
        pages.append(_page(9000 + number, 4, f"Wikipedia:WikiProject {name}", scope, number))
        pages.append(
            _page(9500 + number, 14, f"Category:{name}", f"Articles about {name.lower()}. [[Category:All]]", number)
        )
    pages.append(
        _page(
            9900, 10, "Template:WP Chess", "#REDIRECT [[Template:WikiProject Chess]]", 1, "Template:WikiProject Chess"
        )
    )
    pages.append(_page(9901, 14, "Category:All", "__HIDDENCAT__", 1))
    rows += [
        "(9001,1,'Project',NULL,9)",
        "(101,9,NULL,'',9)",
        "(102,77,NULL,'',9)",
    ]  # another namespace, a small and a deleted project
    dump = folder / "small-pages-meta-current.xml"
    spaces = "".join(
        f'<namespace key="{key}" case="first-letter">{name}</namespace>' for key, name in NAMESPACES.items()
    )
    head = (
        f'<mediawiki xml:lang="en"><siteinfo><base>https://small.example.org/wiki/Main_Page</base><namespaces>{spaces}'
    )
    dump.write_text("\n".join([f"{head}</namespaces></siteinfo>", *pages, *talk, "</mediawiki>\n"]), "utf-8")
    assessments = folder / "small-page_assessments.sql.gz"
    inserts = [
        f"INSERT INTO `page_assessments` VALUES {','.join(rows[at : at + 100])};" for at in range(0, len(rows), 100)
    ]
    assessments.write_bytes(gzip.compress((ASSESSMENTS_HEAD + "\n".join(inserts) + "\n").encode(), mtime=0))
    projects = folder / "small-page_assessments_projects.sql"
    titles = [f"({number},'{name}',NULL)" for number, name in enumerate([*THEMES, "Rock \\'n\\' roll"], 1)]
    projects.write_text(f"{PROJECTS_HEAD}INSERT INTO `page_assessments_projects` VALUES {','.join(titles)};\n")
    return SmallWiki(dump, assessments, projects, pages_of)


def _prose(theme: list[str], rng: np.random.Generator) -> str:
    words = [*rng.choice(theme, 12), *rng.choice(COMMON, 40)]
    return " ".join(map(str, rng.permutation(words))) + "."


def _page(page_id: int, namespace: int, title: str, text: str, revision: int, redirect: str | None = None) -> str:
    leads = f'<redirect title="{escape(redirect)}" />' if redirect else ""
    return (
        f"<page><title>{escape(title)}</title><ns>{namespace}</ns><id>{page_id}</id>{leads}<revision><id>{revision}</id>"
        f"<timestamp>2020-01-01T00:00:00Z</timestamp><text>{escape(text)}</text></revision></page>"
    )


BANNER = (
    "A banner.<includeonly>[[Category:{{{class|Unassessed}}}-Class %(name)s articles]]"
    "[[Category:{{{importance|Unknown}}}-importance %(name)s articles]]</includeonly>"
)


def project_pages(names: list[str], n_pages: int) -> list[tuple[str, str]]:
    """Titles and wikitext of projects with articles, talk pages, banners and pages about them, for a real wiki."""
    rng = np.random.default_rng(0)
    pages = [("Template:WikiProject banner shell", "Banners: {{{1}}}")]
    for name in names:
        pages.append((f"Template:WikiProject {name}", BANNER % {"name": name.lower()}))
        pages.append((f"Project:WikiProject {name}", f"== Scope ==\nThis project covers {name.lower()} of all kinds."))
        for at in range(n_pages):
            quality, importance = CLASSES[at % 5].capitalize(), IMPORTANCES[at % 4].capitalize()
            quality = "GA" if quality == "Ga" else quality
            banner = f"{{{{WikiProject {name}|class={quality}|importance={importance}}}}}"
            pages.append((f"{name} article {at}", _prose(THEMES[name].split(), rng)))
            pages.append((f"Talk:{name} article {at}", f"{{{{WikiProject banner shell|1={banner}}}}}"))
    return pages
