"""Names of a wiki's namespaces, as far as links need them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Prefixes of links in lower case; a wiki in another language has its own beside the English ones."""

    file: frozenset[str] = frozenset({"file", "image", "media"})
    """Prefixes of images, sound and video."""
    category: frozenset[str] = frozenset({"category"})
    """Prefixes of categories."""

    @classmethod
    def local(cls, file: str, category: str) -> Namespaces:
        """The names of a wiki that calls them `file` and `category`."""
        english = cls()
        return cls(english.file | {file.lower()}, english.category | {category.lower()})


ENGLISH = Namespaces()
