"""What a wiki did wrong, as pages say it: in the visitor's language."""

from __future__ import annotations

from evenrank.web.pages.i18n import Message
from evenrank.wiki.errors import WikiError
from evenrank.wiki.publish import ADVICE


def wiki_fault(error: WikiError) -> Message:
    """The error as a message; advice inside it is a message too, what the wiki itself said stays as it is."""
    values = {
        name: Message(value) if isinstance(value, str) and value in ADVICE.values() else value
        for name, value in error.values.items()
    }
    return Message(error.template, **values)
