"""Speed and quality of the wikitext cleaner against mwparserfromhell, and its time on hostile pages.

    python benchmarks/wikitext.py [--repeat 3]

Real pages: the Wikipedia dump inside the PyPI package gensim. Both cleaners run in this process, one core.
"""

from __future__ import annotations

import argparse
import bz2
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from evenrank.wikipedia.annotate.wikitext import parse_wikitext

DUMP = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
MEGABYTE = 1_000_000
WORD = re.compile(r"\w+")

HOSTILE: dict[str, Callable[[int], str]] = {
    "{{": lambda n: "{{" * (n // 2),
    "}}": lambda n: "}}" * (n // 2),
    "[[": lambda n: "[[" * (n // 2),
    "[[a|": lambda n: "[[a|" * (n // 4),
    "]]": lambda n: "]]" * (n // 2),
    "<ref": lambda n: "<ref" * (n // 4),
    "<ref>": lambda n: "<ref>" * (n // 5),
    "<ref> … </REF": lambda n: "<ref>" * (n // 5) + "</REF",
    "{| lines": lambda n: "\n{|" * (n // 3),
    "{| || |": lambda n: "\n{|\n" + "|| | " * (n // 5) + "\n|}",
    "'''": lambda n: "'" * n,
    "<!--": lambda n: "<!--" * (n // 4),
    "{{a 100,000 deep }}": lambda n: "{{a|b" * 100_000 + "}}" * 100_000 + "x" * (n - 700_000),
    "{{infobox nested": lambda n: "{{infobox|a=" * (n // 14) + "}}" * (n // 14),
    "{{small| nested": lambda n: "{{small|b " * (n // 12) + "}}" * (n // 12),
    "{{ }} [[ crossed": lambda n: "{{[[}}]]" * (n // 8),
    "[http://": lambda n: "[http://a " * (n // 10),
    "one URL": lambda n: "[http://" + "a" * n,
    "null bytes": lambda n: "\0" * n,
    "one line": lambda n: "word " * (n // 5) + "[[a]]",
    "blanks": lambda n: "{{" + " " * n + "}}",
    "==": lambda n: "\n" + "=" * n + " \n",
    "== = =": lambda n: "\n" + "= " * (n // 2) + "x\n",
    "headings": lambda n: "\n== a ==" * (n // 8),
    "&": lambda n: "&" * n,
    "&amp;": lambda n: "&amp;" * (n // 5),
    "(": lambda n: "''(" * (n // 3),
    "pipes": lambda n: "{{infobox" + "|" * n + "}}",
    "_": lambda n: "__A" * (n // 3),
    "<a": lambda n: "<a" * (n // 2),
    ".png": lambda n: "|a.png" * (n // 6) + "''",
}


def real_pages() -> list[tuple[str, str]]:
    """Titles and wikitext of the articles in gensim's dump."""
    spec = find_spec("gensim")
    if spec is None or spec.origin is None:
        raise SystemExit("this benchmark needs the package gensim, for the dump in its tests")
    root = ElementTree.fromstring(bz2.decompress((Path(spec.origin).parent / DUMP).read_bytes()))
    name = root.tag[: root.tag.index("}") + 1]
    return [
        (page.findtext(f"{name}title") or "", page.findtext(f"{name}revision/{name}text") or "")
        for page in root.iter(f"{name}page")
        if page.findtext(f"{name}ns") == "0" and page.find(f"{name}redirect") is None
    ]


def oracle_text(wikitext: str) -> str:
    """mwparserfromhell's text of the tree without references, tables, files and categories."""
    import mwparserfromhell
    from mwparserfromhell.nodes import Tag, Wikilink

    def unwanted(node: object) -> bool:
        if isinstance(node, Tag):
            return str(node.tag).strip().lower() in {"ref", "references", "table"}
        return isinstance(node, Wikilink) and bool(
            re.match(r"\s*(?:file|image|category):", str(node.title), re.IGNORECASE)
        )

    code = mwparserfromhell.parse(wikitext)
    for node in code.filter(recursive=True, matches=unwanted):
        try:
            code.remove(node)
        except ValueError:  # went with a node that held it
            continue
    return str(code.strip_code())


def strip_only(wikitext: str) -> str:
    """What mwparserfromhell does by itself."""
    import mwparserfromhell

    return str(mwparserfromhell.parse(wikitext).strip_code())


def agreement(texts: list[str], oracle: list[str]) -> tuple[float, float]:
    """Word recall and precision over all pages, words counted with repetition."""
    shared = found = wanted = 0
    for text, other in zip(texts, oracle, strict=True):
        mine, theirs = Counter(WORD.findall(text.lower())), Counter(WORD.findall(other.lower()))
        shared += (mine & theirs).total()
        found += mine.total()
        wanted += theirs.total()
    return shared / wanted, shared / found


def cpu_seconds(clean: Callable[[str], object], page: str) -> float:
    """CPU time of one call: unlike wall time it does not count what other programs of the machine take."""
    start = time.process_time()
    clean(page)
    return time.process_time() - start


def best_times(cleaners: dict[str, Callable[[str], str]], pages: list[str], repeat: int) -> dict[str, list[float]]:
    """Seconds per page of each cleaner, the best of equally many runs, in turn so that load hits all alike."""
    best: dict[str, list[float]] = {name: [] for name in cleaners}
    for page in pages:
        runs = [{name: cpu_seconds(clean, page) for name, clean in cleaners.items()} for _ in range(repeat)]
        for name in cleaners:
            best[name].append(min(run[name] for run in runs))
    return best


def compare(repeat: int) -> None:
    pages = [text for _, text in real_pages()]
    n_bytes = sum(len(page.encode()) for page in pages)
    oracle = [oracle_text(page) for page in pages]
    cleaners: dict[str, Callable[[str], str]] = {
        "evenrank": lambda page: parse_wikitext(page).body,
        "mwparserfromhell": strip_only,
    }
    best = best_times(cleaners, pages, repeat)
    speeds = {name: n_bytes / MEGABYTE / sum(seconds) for name, seconds in best.items()}
    print(f"{len(pages)} real articles, {n_bytes / MEGABYTE:.1f} MB of wikitext, CPU time, best of {repeat} for both\n")
    print(
        f"{'cleaner':<18}{'MB/s':>8}{'median ms':>11}{'p99 ms':>9}{'recall':>9}{'precision':>11}{'20 GB, 2 cores':>16}"
    )
    for name, clean in cleaners.items():
        recall, precision = agreement([clean(page) for page in pages], oracle)
        p99 = statistics.quantiles(best[name], n=100)[98]
        print(
            f"{name:<18}{speeds[name]:>8.2f}{statistics.median(best[name]) * 1000:>11.2f}{p99 * 1000:>9.1f}"
            f"{recall:>9.4f}{precision:>11.4f}{20_000 / speeds[name] / 2 / 60:>12.1f} min"
        )
    print(f"\nevenrank is {speeds['evenrank'] / speeds['mwparserfromhell']:.1f} times as fast in this run\n")


def hostile() -> None:
    print(f"{'hostile page':<24}{'250 kB, s':>11}{'1 MB, s':>11}{'growth':>9}   (4 is linear)")
    for name, make in HOSTILE.items():
        small, large = (cpu_seconds(parse_wikitext, make(size)) for size in (MEGABYTE // 4, MEGABYTE))
        print(f"{name:<24}{small:>11.3f}{large:>11.3f}{large / small:>9.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    compare(parser.parse_args().repeat)
    hostile()
