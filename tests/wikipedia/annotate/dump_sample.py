"""A small MediaWiki dump and a small Wikidata dump about it, with every odd case."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

from wikidata_sample import dump_bytes, entity, statement

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <base>https://en.wikipedia.org/wiki/Main_Page</base>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="6" case="first-letter">File</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
"""
TAIL = "</mediawiki>\n"
STUB = "A short text."
LONG = "\n== History ==\nText with a [[link]].<ref>a source</ref>\n" * 20


def page(page_id: int, title: str, text: str = STUB, redirect: str = "", namespace: int = 0) -> str:
    """A page as the dump writes it."""
    to = f'\n    <redirect title="{escape(redirect)}" />' if redirect else ""
    return f"""  <page>
    <title>{escape(title)}</title>
    <ns>{namespace}</ns>
    <id>{page_id}</id>{to}
    <revision>
      <id>{page_id + 900}</id>
      <timestamp>2020-05-04T03:02:01Z</timestamp>
      <text bytes="{len(text)}" xml:space="preserve">{escape(text)}</text>
    </revision>
  </page>
"""


PAGES = [
    page(1, "Ada Example", LONG),
    page(2, "Ben Sample"),
    page(3, "Dora Moved"),
    page(4, "Old title of Dora", redirect="Dora Moved"),
    page(5, "Tower of Somewhere"),
    page(6, "Élan & Zest"),
    page(7, "Nothing known"),
    page(8, "Category:Things", namespace=14),
    page(9, "Union of States"),
    page(10, "Unstated"),
    page(11, "Side topic", redirect="Nothing known"),
    page(12, "Only by id"),
    page(13, "Deprecated claims"),
    page(14, "Moon crater"),
]
MALE, FEMALE, NON_BINARY = 6581097, 6581072, 48270
HUMAN = statement("P31", 5)

ENTITIES = [
    # a person: two citizenships, one of a dissolved state; a deprecated one; born in a town; of another class too
    entity(
        1001,
        HUMAN,
        statement("P31", 3102),
        statement("P21", FEMALE, references={"P143": 328}),
        statement("P27", 142, qualifiers={"P580": "+1900-01-01T00:00:00Z", "P17": 30}),
        statement("P27", 15180),
        statement("P27", 30, rank="deprecated"),
        statement("P19", 2001),
        statement("P106", 3001),
        statement("P569", "+1899-12-10T00:00:00Z"),
        statement("P570", "+1970-00-00T00:00:00Z/9"),
        title="Ada Example",
        others=("frwiki", "dewiki", "commonswiki", "enwikiquote"),
    ),
    # preferred hides normal; gender unknown value; two genders are kept
    entity(
        1002,
        HUMAN,
        statement("P21", MALE),
        statement("P21", NON_BINARY),
        statement("P27", 183, rank="preferred"),
        statement("P27", 668),
        statement("P19", kind="somevalue"),
        statement("P106", 36180),
        title="Ben Sample",
        others=("frwiki",),
    ),
    # the sitelink still has the title from before a move
    entity(1003, HUMAN, statement("P21", FEMALE), statement("P27", kind="novalue"), title="Old title of Dora"),
    # no country, but coordinates (Nairobi)
    entity(
        1005,
        statement("P31", 3101),
        statement("P625", (-1.29, 36.82)),
        statement("P571", "+0900-00-00T00:00:00Z/7"),
        title="Tower of Somewhere",
        titles={"dewiki": "Turm von Irgendwo"},
    ),
    # two classes by title, one without a page here, one whose page is about the wiki itself, one deprecated
    entity(
        1006,
        statement("P495", 17),
        *(statement("P31", number) for number in (3102, 3104, 3105, 3101)),
        statement("P31", 3103, rank="deprecated"),
        title="Élan & Zest",
        others=tuple(f"l{n}wiki" for n in range(5)),
    ),
    # no claims at all
    entity(1007, title="Nothing known"),
    entity(
        1009,
        statement("P17", 36704),
        statement("P31", 3101),
        statement("P31", 3102, rank="preferred"),
        title="Union of States",
    ),
    # everything says "unknown"; a gender without being a person does not count
    entity(
        1010,
        statement("P17", kind="somevalue"),
        statement("P27", kind="novalue"),
        statement("P21", MALE),
        title="Unstated",
    ),
    # a sitelink to a redirect on purpose says nothing about the redirect's target
    entity(1011, statement("P17", 155), title="Side topic", badges=("Q70893996",)),
    entity(1012, statement("P17", 36), title="Another title"),
    entity(1013, statement("P17", 30, rank="deprecated"), title="Deprecated claims"),
    entity(1014, statement("P625", (10.0, 10.0, "Q405")), title="Moon crater"),
    # items without a page: a town, its state, occupations, and one that nobody needs
    entity(2001, statement("P17", 298), others=("eswiki",)),
    entity(3001, statement("P279", 3002)),
    entity(3002, statement("P279", 36180), statement("P279", 327055)),
    entity(4001, statement("P2000", "text"), others=("eswiki",)),
    # classes: pages about them are not in this dump, which is a selection
    entity(3101, title="Tower (building)", titles={"dewiki": "Turm"}),
    entity(3102, title="Institution"),
    entity(3103, title="Mistake"),
    entity(3104, others=("eswiki",)),
    entity(3105, title="Category:Lists"),
]
PAGE_PROPS = (
    "INSERT INTO `page_props` VALUES (12,'wikibase_item','Q1012',NULL),(12,'defaultsort','x',NULL),"
    "(7,'wikibase_item','Q9',NULL);\n"
)


def write_sample(folder: Path) -> tuple[Path, Path, Path]:
    """The dumps as files: Wikipedia, Wikidata, page_props."""
    paths = folder / "dump.xml", folder / "wikidata.json", folder / "page_props.sql"
    paths[0].write_text(HEAD + "".join(PAGES) + TAIL, "utf-8")
    paths[1].write_bytes(dump_bytes(ENTITIES))
    paths[2].write_text(PAGE_PROPS, "utf-8")
    return paths


def read_comment(data: bytes) -> str:
    """The comment in the header of a gzip file's first bytes; empty when there is none."""
    if data[:3] != b"\x1f\x8b\x08" or data[3] != 0x10:
        return ""
    return data[10 : data.index(b"\0", 10)].decode("latin-1")
