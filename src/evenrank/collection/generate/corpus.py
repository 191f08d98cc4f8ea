"""Lines of the corpus file."""

from __future__ import annotations

from math import ceil
from urllib.parse import quote

import orjson

from evenrank.collection.generate.amounts import draw_amounts
from evenrank.collection.generate.article import write_article
from evenrank.collection.generate.lexicon import make_lexicon
from evenrank.collection.generate.pages import BLOCK, PageBlock
from evenrank.collection.generate.plan import Plan
from evenrank.collection.generate.prose import Prose
from evenrank.collection.generate.subject import make_subject
from evenrank.rng import derive

WIKI = "https://example.org/wiki/"


def corpus_lines(plan: Plan, pages: PageBlock, block: int) -> bytes:
    """One JSON record a line (id, title, url, text) for each page of the block."""
    seed = plan.settings.seed
    prose = Prose(make_lexicon(plan), derive(seed, "text", block))
    offset = int(derive(seed, "names").integers(1 << 30))
    first = block * (BLOCK + ceil(BLOCK * plan.settings.unlisted_share))
    amounts = draw_amounts(pages.score, derive(seed, "amounts", block))
    lines = []
    for row, page_id in enumerate(pages.page_id.tolist()):
        subject = make_subject(prose, pages, amounts, row, first + row, offset)
        url = WIKI + quote(subject.title.replace(" ", "_"))
        text = write_article(plan, prose, subject)
        lines.append(orjson.dumps({"id": page_id, "title": subject.title, "url": url, "text": text}))
    return b"\n".join([*lines, b""])
