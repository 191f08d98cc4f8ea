"""The track's corpus: articles, faults with line and byte, going on where reading stopped."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenrank.core.records import Article
from evenrank.errors import InputError
from evenrank.io.articles import open_articles, read_articles, read_parsed
from evenrank.io.corpus import text_of_html
from evenrank.io.faults import FaultLog

SAMPLE = Path(__file__).parents[3] / "shared" / "data" / "wikipedia-sample" / "corpus.jsonl.gz"


def article(page_id: int, text: str = "Text.") -> Article:
    return Article(page_id, f"Title {page_id}", f"https://example.org/{page_id}", text)


def line(item: Article, **more: object) -> bytes:
    fields = {"id": item.page_id, "title": item.title, "url": item.url, "text": item.text, **more}
    return orjson.dumps(fields) + b"\n"


def write(folder: Path, content: bytes, pack: Callable[[bytes], bytes] = gzip.compress) -> Path:
    path = folder / "corpus.any"
    path.write_bytes(pack(content))
    return path


def test_articles_come_as_they_are(tmp_path: Path) -> None:
    wanted = [article(number, f"Wikitext {{{{é}}}} {number}\n") for number in range(1, 300)]
    path = write(tmp_path, b"".join(line(item, extra=[1, {"a": None}]) for item in wanted))
    faults = FaultLog()
    assert list(read_articles(path, faults)) == wanted
    assert faults.report() == ""


def test_ids_as_text_missing_url_blank_lines_and_last_line(tmp_path: Path) -> None:
    content = (
        b'\xef\xbb\xbf{"id": "7", "title": "A", "text": "b"}\n\n  \r\n{"id": 8, "title": "B", "text": "c", "url": "u"}'
    )
    faults = FaultLog()
    assert list(read_articles(write(tmp_path, content), faults)) == [
        Article(7, "A", "", "b"),
        Article(8, "B", "u", "c"),
    ]
    assert faults.n_faults == 0


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (b'{"id": 1, "title": "A"', "no JSON"),
        (b"garbage", "no JSON"),
        (b"[1, 2]", "a JSON list"),
        (b'{"title": "A", "text": "b"}', "id is missing"),
        (b'{"id": -1, "title": "A", "text": "b"}', "id is -1"),
        (b'{"id": 99999999999, "title": "A", "text": "b"}', "id is 99999999999"),
        (b'{"id": true, "title": "A", "text": "b"}', "id is True"),
        (b'{"id": 1, "title": null, "text": "b"}', "title is missing"),
        (b'{"id": 1, "title": "A", "text": 5}', "text is 5"),
        (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "no JSON"),
    ],
)
def test_broken_records_are_skipped_with_their_place(tmp_path: Path, record: bytes, found: str) -> None:
    first, second = article(1), article(2)
    path = write(tmp_path, line(first) + record + b"\n" + line(second))
    faults = FaultLog()
    assert list(read_articles(path, faults)) == [first, second]
    assert faults.n_faults == 1
    assert faults.faults[0].line == 2
    assert found in faults.faults[0].found
    assert f"at byte {len(line(first))}" in faults.faults[0].found


def test_bytes_that_are_no_text_are_replaced_and_counted(tmp_path: Path) -> None:
    content = (
        b'{"id": 1, "title": "A\xff", "text": "b"}\n{"id": 2, "title": "B", "text": "nul\x00l"}\n'
        b'{"id": 3, "title": "C", "text": "\\ud800 half"}\n{"id": 4, "title": "D", "text": "\\u0000"}\n'
    )
    faults = FaultLog()
    texts = [(item.title, item.text) for item in read_articles(write(tmp_path, content), faults)]
    mark = "\N{REPLACEMENT CHARACTER}"
    assert texts == [(f"A{mark}", "b"), ("B", f"nul{mark}l"), ("C", f"{mark} half"), ("D", mark)]
    assert (faults.n_faults, faults.n_repaired) == (0, 4)
    assert "4 records" in faults.report()


def test_a_cut_file_gives_all_before_the_cut(tmp_path: Path) -> None:
    wanted = [article(number, f"text {number * number}") for number in range(1, 5000)]
    packed = gzip.compress(b"".join(map(line, wanted)))
    path = write(tmp_path, packed[: len(packed) * 2 // 3], bytes)
    faults = FaultLog()
    got = list(read_articles(path, faults))
    assert got == wanted[: len(got)]
    assert len(got) > 2500
    assert faults.n_faults == 1
    assert "cut off" in faults.faults[0].found


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_reading_goes_on_after_any_batch(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    content = b"".join(line(article(number)) if number % 50 else b"broken\n" for number in range(1, 500))
    path = write(tmp_path, content, pack)
    faults = FaultLog(limit=100)
    batches = list(read_parsed(path, faults, size=2000))
    assert len(batches) > 10
    for index, batch in enumerate(batches):
        later = FaultLog(limit=100)
        rest = list(read_parsed(path, later, start=batch.end, size=2000))
        assert [item.articles for item in rest] == [item.articles for item in batches[index + 1 :]]
        assert later.faults == faults.faults[len(faults.faults) - len(later.faults) :]


def test_batches_know_how_much_of_the_file_was_read(tmp_path: Path) -> None:
    path = write(tmp_path, b"".join(line(article(number)) for number in range(1, 500)))
    n_bytes = [batch.n_file_bytes for batch in read_parsed(path, FaultLog(), size=2000)]
    assert n_bytes == sorted(n_bytes)
    assert n_bytes[-1] == open_articles(path).size_bytes


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x00\x01", b"a,b,c\n"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match=r"corpus\.any: (an empty file|a file that starts with)"):
        list(read_articles(write(tmp_path, content, bytes), FaultLog()))


def test_many_faults_are_counted_and_few_kept(tmp_path: Path) -> None:
    faults = FaultLog(limit=3)
    assert list(read_articles(write(tmp_path, b"{\n" * 1000), faults)) == []
    assert (faults.n_faults, len(faults.faults)) == (1000, 3)
    assert faults.report().endswith("… and 997 more")
    with pytest.raises(InputError, match="997 more"):
        faults.raise_if_any()


def test_real_sample() -> None:
    if not SAMPLE.exists():
        pytest.skip(f"{SAMPLE.name} of the shared data is not here")
    faults = FaultLog()
    batch = next(iter(read_parsed(SAMPLE, faults)))
    assert batch.articles[0].page_id == 12
    assert batch.articles[0].title == "Anarchism"
    assert faults.n_faults == 0


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.binary(), st.lists(st.sampled_from([b"{", b"}", b'"id":', b"1", b"\n", b'""', b",", b"\xff"])).map(b"".join)
    )
)
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = write(tmp_path_factory.mktemp("any"), b"{" + content, bytes)
    faults = FaultLog()
    got = list(read_articles(path, faults))
    n_lines = sum(1 for record in (b"{" + content).split(b"\n") if record.strip())
    assert len(got) + faults.n_faults == n_lines


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("a<script>x</script >b", "a b"),
        ("a<SCRIPT type=b>x</script>b<style>y</style>c<!-- z -->d", "a b c d"),
        ("a<script>x", "a x"),
        ("a<!-- b", "a<!-- b"),
        ("a<scripts>b", "a b"),
        ("1 < 2", "1 < 2"),
        ("<script>a<script>b</script>c", " c"),
        ("<style>a<script>b</script>c", " a c"),
    ],
)
def test_what_readers_do_not_see_is_left_out(html: str, text: str) -> None:
    assert text_of_html(html) == text


@pytest.mark.parametrize("piece", ["<", "<script ", "<!--", "<style>", "<script></script "])
def test_a_million_beginnings_without_an_end_are_read_once(piece: str) -> None:
    """Each looked for its end up to the end of the text: 200 kB took 20 s."""
    assert len(text_of_html(piece * (1_000_000 // len(piece)))) <= 1_000_000
