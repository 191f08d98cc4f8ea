"""MediaWiki dumps: which pages are articles, damage, resumption, several processes."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenrank.core.records import Article
from evenrank.io.articles import map_articles, open_articles, read_articles, read_parsed
from evenrank.io.corpus import read_site
from evenrank.io.faults import FaultLog
from tests.real_dump import dump_path, load_benchmark

HEAD = """<mediawiki xml:lang="de">
  <siteinfo>
    <base>https://de.wikipedia.org/wiki/Hauptseite</base>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="6" case="first-letter">Datei</namespace>
      <namespace key="14" case="first-letter">Kategorie</namespace>
    </namespaces>
  </siteinfo>
"""


def page(page_id: int, text: str = "Text.", *, ns: int = 0, title: str | None = None, more: str = "") -> str:
    title = f"Page {page_id}" if title is None else title
    return f"""  <page>
    <title>{escape(title)}</title>
    <ns>{ns}</ns>
    <id>{page_id}</id>
{more}    <revision>
      <id>9{page_id}</id>
      <comment>text &lt;text&gt;</comment>
      <text bytes="1" xml:space="preserve">{escape(text)}</text>
      <sha1>x</sha1>
    </revision>
  </page>
"""


def multistream(content: bytes) -> bytes:
    """A dump as Wikimedia publishes it: the head, then some pages a stream."""
    pieces = content.split(b"  <page>")
    streams = [
        pieces[0],
        *(b"".join(b"  <page>" + piece for piece in pieces[at : at + 7]) for at in range(1, len(pieces), 7)),
    ]
    return b"".join(map(bz2.compress, streams))


PACK: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "multistream": multistream,
}


def write(folder: Path, content: str | bytes, pack: Callable[[bytes], bytes] = bytes) -> Path:
    path = folder / "dump.any"
    path.write_bytes(pack(content.encode() if isinstance(content, str) else content))
    return path


def ids(path: Path, faults: FaultLog | None = None) -> list[int]:
    return [article.page_id for article in read_articles(path, FaultLog() if faults is None else faults)]


@pytest.mark.parametrize("pack", PACK.values(), ids=PACK)
def test_articles_come_without_redirects_and_other_namespaces(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    content = HEAD + "".join(
        [
            page(1, "a < b & \"c\" 'd' &amp; [[é]]\n", title="Straße & <Weg>"),
            page(2, more='    <redirect title="Page 1" />\n'),
            page(3, "#Weiterleitung [[Page 1]]"),
            page(4, "#REDIRECT [[Page 1]]"),
            page(5, ns=1, title="Diskussion:Page"),
            page(6, "<redirect> is only text here"),
            page(7, "").replace('<text bytes="1" xml:space="preserve"></text>', '<text bytes="0" />'),
        ]
    )
    path = write(tmp_path, content + "</mediawiki>\n", pack)
    faults = FaultLog()
    articles = list(read_articles(path, faults))
    assert [article.page_id for article in articles] == [1, 3, 6, 7]
    assert articles[0] == Article(
        1,
        "Straße & <Weg>",
        "https://de.wikipedia.org/wiki/Stra%C3%9Fe_%26_%3CWeg%3E",
        "a < b & \"c\" 'd' &amp; [[é]]\n",
    )
    assert articles[-1].text == ""
    assert faults.report() == ""


def test_site_tells_the_names_of_namespaces(tmp_path: Path) -> None:
    site = read_site(write(tmp_path, HEAD + page(1)))
    names = dict(site.namespaces)
    assert (names[6], names[14]) == ("Datei", "Kategorie")
    assert 10 not in names


def test_real_dump_has_106_articles() -> None:
    faults = FaultLog()
    articles = list(read_articles(dump_path(), faults))
    assert [(article.title, article.text) for article in articles] == load_benchmark("wikitext").real_pages()
    assert len(articles) == 106
    assert (articles[0].page_id, articles[-1].page_id) == (12, 775)
    assert articles[0].url == "https://en.wikipedia.org/wiki/Anarchism"
    assert not any(article.text.lower().startswith("#redirect") for article in articles)
    assert faults.n_faults == 0


def test_two_processes_give_the_same_as_one() -> None:
    faults = FaultLog()
    one, two = (
        list(map_articles(repr, open_articles(dump_path()), faults, n_workers=n_workers, size=1 << 20))
        for n_workers in (1, 2)
    )
    assert one == two
    assert sum(batch.n_articles for batch in one) == 106


@pytest.mark.parametrize("pack", PACK.values(), ids=PACK)
def test_reading_goes_on_after_any_batch(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    content = HEAD + "".join(page(number, "word " * (number % 90)) for number in range(1, 400)) + "</mediawiki>"
    path = write(tmp_path, content, pack)
    batches = list(read_parsed(path, FaultLog(), size=8000))
    assert len(batches) > 5
    for index, batch in enumerate(batches):
        rest = list(read_parsed(path, FaultLog(), start=batch.end, size=8000))
        assert [item.articles for item in rest if item.articles] == [
            item.articles for item in batches[index + 1 :] if item.articles
        ]


def test_broken_pages_are_skipped_with_their_line(tmp_path: Path) -> None:
    broken = [
        page(2).replace("<id>2</id>", ""),
        page(3).replace("</text>", ""),
        page(4).replace("</page>", ""),
        page(5).replace("<text", "<txt"),
        page(99999999999 % 10**10).replace("<ns>0</ns>", "<ns>x</ns>"),
    ]
    path = write(tmp_path, HEAD + page(1) + "".join(item + page(10 + n) for n, item in enumerate(broken)))
    faults = FaultLog()
    assert ids(path, faults) == [1, 10, 11, 12, 13, 14]
    assert faults.n_faults == 5
    lines = path.read_text().split("\n")
    assert all("<page>" in lines[fault.line - 1] for fault in faults.faults)


def test_bytes_that_are_no_text_are_replaced_and_counted(tmp_path: Path) -> None:
    content = (HEAD + page(1, "bad X byte") + page(2, "nul Y l") + page(3)).encode()
    path = write(tmp_path, content.replace(b"X", b"\xff").replace(b"Y", b"\0"))
    faults = FaultLog()
    texts = [article.text for article in read_articles(path, faults)]
    mark = "\N{REPLACEMENT CHARACTER}"
    assert texts == [f"bad {mark} byte", f"nul {mark} l", "Text."]
    assert (faults.n_faults, faults.n_repaired) == (0, 2)


@pytest.mark.parametrize("kind", ["gzip", "multistream"])
def test_a_cut_dump_gives_what_is_readable(tmp_path: Path, kind: str) -> None:
    content = HEAD + "".join(page(number, f"{number * 7919} " * 20) for number in range(1, 500))
    packed = PACK[kind](content.encode())
    path = write(tmp_path, packed[: len(packed) // 2])
    faults = FaultLog()
    got = ids(path, faults)
    assert got == list(range(1, len(got) + 1))
    assert len(got) > 200
    assert any("cut off" in fault.found for fault in faults.faults)


def test_a_cut_plain_dump_says_that_the_last_page_has_no_end(tmp_path: Path) -> None:
    faults = FaultLog()
    assert ids(write(tmp_path, HEAD + page(1) + page(2)[:-20]), faults) == [1]
    assert "without its start or its end" in faults.faults[0].found


def test_a_damaged_block_costs_only_its_pages(tmp_path: Path) -> None:
    content = HEAD + "".join(page(number, f"{number * 7919} " * 20) for number in range(1, 500))
    packed = bytearray(multistream(content.encode()))
    packed[len(packed) // 2] ^= 0x10
    faults = FaultLog()
    got = ids(write(tmp_path, bytes(packed)), faults)
    assert got == sorted(set(got))
    assert got[0] == 1
    assert got[-1] == 499
    assert len(got) == 499 - 7
    assert "damaged" in faults.faults[0].found


def test_kind_is_told_by_content(tmp_path: Path) -> None:
    assert open_articles(write(tmp_path, HEAD, bz2.compress)).kind == "dump"
    assert open_articles(write(tmp_path, "<?xml version='1.0'?>" + HEAD)).kind == "dump"
    assert open_articles(write(tmp_path, '{"id": 1}', gzip.compress)).kind == "corpus"


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                ["<page>", "</page>", "<title>", "</title>", "<ns>0</ns>", "<id>1</id>", "<text>", "</text>", "\n"]
            ),
            st.just(page(5)),
            st.text(max_size=8),
        ),
        max_size=30,
    ).map("".join)
)
def test_any_pages_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    path = write(tmp_path_factory.mktemp("any"), ("<mediawiki>" + content).encode("utf-8", "replace"))
    faults = FaultLog()
    got = ids(path, faults)
    assert len(got) + faults.n_faults <= content.count("page>")
