"""Reading ahead: a cross-encoder reads the first pages of a question in the background, and nobody waits for it.

The first list of a question comes at once, without what the cross-encoder says; a second later the question has been
read, and previews, lists and searches made from then on use it. Scores are kept beside the index.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque

from evenrank.core.records import Topic
from evenrank.ranking.sources import SearchSource
from evenrank.retrieval.relevance import RelevanceModel

LOG = logging.getLogger("evenrank.app")
MOST_WAITING = 8
"""Questions that wait to be read; the newest are read first, and older ones are dropped: people type on."""
MOST_READ = 4096
"""Questions that are known to have been read."""
Asked = tuple[str, tuple[str, ...], str]


class ReadAhead:
    """Questions that a cross-encoder has read, and those that wait for it; one thread reads, while there is work."""

    def __init__(self, source: SearchSource) -> None:
        self.source = source
        """A source whose model reads."""
        self._read: OrderedDict[Asked, None] = OrderedDict()
        self._waiting: deque[Topic] = deque(maxlen=MOST_WAITING)
        self._changed = threading.Condition()
        self._is_reading = False

    def model(self, topic: Topic) -> RelevanceModel | None:
        """The model that reads, if it has read this topic; else None, and the topic is read in the background."""
        return self.source.model() if self.has_read(topic) else None

    def has_read(self, topic: Topic) -> bool:
        """Whether a topic has been read; one that has not waits for it from now on."""
        asked = (topic.title, topic.keywords, topic.scope)
        with self._changed:
            if asked in self._read:
                self._read.move_to_end(asked)
                return True
            if topic not in self._waiting:
                self._waiting.append(topic)
            if not self._is_reading:
                self._is_reading = True
                threading.Thread(target=self._work, name="read-ahead", daemon=True).start()
            return False

    def wait(self, timeout_s: float) -> bool:
        """Whether nothing was left to read before the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._is_reading, timeout_s)

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._is_reading = False
                    self._changed.notify_all()
                    return
                topic = self._waiting.pop()
            try:
                self.source.pages(topic)
            except Exception:  # whatever fails, lists are made without it
                LOG.exception("the cross-encoder could not read the pages of a question")
            with self._changed:
                self._read[topic.title, topic.keywords, topic.scope] = None
                while len(self._read) > MOST_READ:
                    self._read.popitem(last=False)
