"""Messages of the web app's pages: lists them, and brings the translations in `app/locale` up to date.

python tools/messages.py            rewrites locale/*.po: new messages are added untranslated, old ones dropped
python tools/messages.py --missing  prints what is not translated, and fails when something is not
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

from evenrank.app.articles.article import BROUGHT, RELATED
from evenrank.app.articles.article import KINDS as FACTS
from evenrank.app.articles.collection_view import SYNTHETIC, UNASSESSED, UNKNOWN
from evenrank.app.articles.filters import NEEDS, ORDERS, SIZES, VIEWS
from evenrank.app.articles.source import KINDS, PASTED, ROLES
from evenrank.app.articles.user_articles import NOT_ARTICLE, NOT_HERE
from evenrank.app.assess.ballot import MEANINGS, OTHERS, SAID, SCALES
from evenrank.app.exports.formats import FORMATS
from evenrank.app.exports.listing import OPEN, TABLE_COLUMNS
from evenrank.app.fairness.balance import FOLDED
from evenrank.app.fairness.disclosure import BANDS
from evenrank.app.lists.work_list import LABELS
from evenrank.app.pages.errors import TITLES
from evenrank.app.pages.i18n import LANGUAGES
from evenrank.app.storage.saved_request import WORDS as MODEL_WORDS
from evenrank.trec.dimensions import DIMENSIONS
from evenrank.wikipedia.mediawiki.publish import ADVICE

WEB = Path(__file__).parents[1] / "src/evenrank/app"
CHANGES = ("New on the list", "Improved", "Fell back", "No longer on the list", "Deleted")
FOR_VISITORS = {
    "Message", "BadRequestError", "HTTPException", "QuestionError", "NothingFoundError", "SourceError", "EntriesError",
    "NotInListError", "NotInSearchError", "TooManyDrawsError",
    "WikiError", "WikiAnswerError", "WikiUnreachableError", "EditedByOthersError",
}  # fmt: skip
"""What makes a message of the texts that it is given."""
Message = str | tuple[str, str]


def messages() -> list[Message]:
    """Every message once: those of the templates, then those that code and tables hand to them."""
    return list(dict.fromkeys([*_in_templates(), *_in_code(), *_in_python()]))


def _in_templates() -> Iterator[Message]:
    for path in sorted((WEB / "templates").rglob("*.html")):
        with path.open("rb") as file:
            for _, function, message, _ in babel_extract(file, ("_", "ngettext"), (), {"newstyle_gettext": "true"}):
                yield (message[0], message[1]) if function == "ngettext" else _text(message)


def _text(message: str | tuple[str | None, ...]) -> str:
    return message if isinstance(message, str) else str(message[0])


def _in_code() -> Iterator[str]:
    """Messages of tables, and those that Python code gives to error pages and forms."""
    choices = tomllib.loads((WEB / "request/choices.toml").read_text("utf-8"))
    for kind in ("goal", "attention", "strength", "policy"):
        for entry in choices[kind]:
            yield from (entry["label"], entry["explanation"])
    yield from (
        *KINDS.values(),
        *ROLES.values(),
        *ORDERS.values(),
        *NEEDS.values(),
        *CHANGES,
        NOT_HERE,
        NOT_ARTICLE,
        PASTED,
    )
    yield from (*TITLES, *MEANINGS.values(), *SAID.values(), "Open", UNKNOWN, SYNTHETIC, UNASSESSED, *ADVICE.values())
    yield from (*TABLE_COLUMNS, *LABELS.values(), OPEN, "regenerate", "edit the query")
    yield from (
        RELATED,
        BROUGHT,
        *FACTS,
        *MODEL_WORDS.values(),
        *FOLDED,
        *BANDS,
        "unknown",
        "the wiki refused: %(text)s (%(code)s)",
    )
    yield "the wiki refused: %(text)s (%(code)s); %(advice)s"
    yield from (word for words in SCALES.values() for word in words)
    yield from (answer.label for answer in OTHERS)
    yield from (label for label, _, _ in (*SIZES.values(), *VIEWS.values()))
    yield from (form.label for form in FORMATS.values())
    for name in ("geography", "gender"):
        yield from (DIMENSIONS[name].heading, *DIMENSIONS[name].readable_groups)


def _in_python() -> Iterator[str]:
    """Texts of `Message`, and texts that errors for visitors are made of."""
    for path in [*sorted(WEB.rglob("*.py")), *sorted((WEB.parent / "wikipedia/mediawiki").glob("*.py"))]:
        if path.parent.name in ("api", "middleware"):
            continue  # programs read English, and guards answer before there is a language
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FOR_VISITORS:
                yield from (text for argument in node.args for text in _literals(argument))
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith(("faults[", "text")):
                yield from _literals(node.value)


def _literals(node: ast.expr) -> Iterator[str]:
    """The texts that an argument is, or has as the values of a dictionary."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Dict):
        yield from (text for value in node.values for text in _literals(value))


def catalog_of(language: str) -> Catalog:
    """The stored translations of a language; an empty catalogue when there are none."""
    path = WEB / "locale" / f"{language}.po"
    if not path.is_file():
        return Catalog(locale=language)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def updated(language: str) -> Catalog:
    """The translations of today's messages."""
    known, made = catalog_of(language), Catalog(locale=language, project="Evenrank", fuzzy=False)
    for message in messages():
        before = known.get(message if isinstance(message, str) else message[0])
        made.add(message, before.string if before else None)
    return made


def missing(language: str) -> list[str]:
    """Messages without a translation."""
    catalog = updated(language)
    return [str(message.id) for message in catalog if message.id and not _is_translated(message.string)]


def _is_translated(string: object) -> bool:
    return bool(string) and (isinstance(string, str) or all(string))  # type: ignore[arg-type]


def main() -> int:
    others = [language for language in LANGUAGES if language != "en"]
    if "--missing" in sys.argv:
        gaps = {language: missing(language) for language in others}
        for language, found in gaps.items():
            print(f"{language}: {len(found)} of {len(messages())} messages are not translated")
            print("".join(f"  {text}\n" for text in found[:20]), end="")
        return int(any(gaps.values()))
    for language in others:
        catalog = updated(language)  # before its file is opened, which empties it
        with (WEB / "locale" / f"{language}.po").open("wb") as file:
            write_po(file, catalog, width=110, omit_header=False)
    print(f"{len(messages())} messages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
