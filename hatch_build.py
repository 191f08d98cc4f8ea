"""The README as an index of packages shows it: without pictures and links that lead to files of the repository.

An index has the text of the README and none of the files around it, so a picture would be broken there and a link would
lead nowhere. Links with an address of their own stay.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"^!\[[^]]*\]\((?!https?://)[^)]*\)\n\n?", re.M)
LINK = re.compile(r"(?<!!)\[([^]]*)\]\((?!https?://|#|mailto:)[^)]*\)")


def index_readme(text: str) -> str:
    """Markdown without pictures and links that are paths; the words of a link stay."""
    return LINK.sub(r"\1", PICTURE.sub("", text))


class IndexReadme(MetadataHookInterface):
    """Sets `readme`, which pyproject.toml leaves to the build."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = index_readme((Path(self.root) / "README.md").read_text("utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
