"""What the judging page and the settling page share: topic, article, form."""

from __future__ import annotations

import time
from typing import Any

from evenrank.web.assess.ballot import ANSWERS, MAX_COMMENT, label_of, new_nonce
from evenrank.web.assess.judging import Judging
from evenrank.web.assess.reading import lay_out


def article_context(judging: Judging, topic: int, page_id: int, is_whole: bool) -> dict[str, Any]:
    """Values for a template that shows an article of a topic and asks about it."""
    content = judging.content(page_id)
    return {
        "topic": judging.topic(topic),
        "page_id": page_id,
        "article": None if content is None else lay_out(content, judging.stems(topic), is_whole),
        "is_whole": is_whole,
        "guidelines": judging.guidelines,
        "answers": list(ANSWERS.values()),
        "label_of": label_of,
        "max_comment": MAX_COMMENT,
        "nonce": new_nonce(),
        "opened": f"{time.time():.1f}",
    }
