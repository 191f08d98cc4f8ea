"""Publishing a list to a page of the wiki: draft, difference, edit; never over anybody else's work."""

from __future__ import annotations

import difflib
import hashlib
import re
from dataclasses import dataclass

from evenrank.wikipedia.mediawiki.client import NEWEST_TEXT, Record, WikiClient, object_at, record_number, records, text
from evenrank.wikipedia.mediawiki.settings import WikiAnswerError, WikiApiError, WikiError

_NAME = re.compile(r"[a-z0-9-]{1,64}")
_BEGIN = (
    "<!-- Evenrank list{name} {mark}: this part is replaced when the list is refreshed; write above or below it -->"
)
_END = "<!-- End of Evenrank list{name} -->"
_USUAL_NAME = "list"
"""Name of the only list of a page, which its markers leave out; those of earlier versions had it."""
_MARK = r"(?P<mark>[0-9a-f]{16})"


class EditedByOthersError(WikiError):
    """Somebody changed the text between the markers, so that replacing it would lose their work."""


@dataclass(frozen=True, slots=True)
class Block:
    """Our part of a page."""

    start: int
    end: int
    """Where the block, with its markers, is in the text of the page."""
    content: str
    mark: str
    """Fingerprint of the content that we wrote."""

    @property
    def is_edited(self) -> bool:
        """Whether the content is no longer what we wrote."""
        return block_fingerprint(self.content) != self.mark


def replace_block(text: str, content: str, name: str, *, discard_edits: bool = False) -> str:
    """The text of a page with new content between the markers; a page without them gets them at its end.

    The begin marker carries a fingerprint of what we wrote. If the text there no longer has it, somebody edited it, and
    it is replaced only with `discard_edits`.
    """
    found = find_block(text, name)
    block = write_block(content, name)
    if found is None:
        return f"{text.rstrip()}\n\n{block}\n".lstrip("\n")
    if found.is_edited and not discard_edits:
        raise EditedByOthersError(
            "the list '%(name)s' was edited on the wiki since it was last published; move those edits out of the "
            "marked part, or discard them explicitly",
            name=name,
        )
    return text[: found.start] + block + text[found.end :]


def find_block(text: str, name: str) -> Block | None:
    """Our block of that name; None when the page has none, an error when its markers do not make one block."""
    if not _NAME.fullmatch(name):
        raise WikiError("%(name)s: not a name for a list (use a-z, 0-9 and '-')", name=name)
    names = dict.fromkeys((_in_marker(name), f" {name}"))
    patterns = [re.escape(_BEGIN.format(name=one, mark="MARK")).replace("MARK", _MARK) for one in names]
    begins = [found for pattern in patterns for found in re.finditer(pattern, text)]
    ends = [found for one in names for found in re.finditer(re.escape(_END.format(name=one)), text)]
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or ends[0].start() < begins[0].end():
        raise WikiError(
            "the page has %(begins)s begin and %(ends)s end markers of the list '%(name)s', not one of each in this "
            "order; repair or remove them on the wiki",
            begins=len(begins),
            ends=len(ends),
            name=name,
        )
    content = text[begins[0].end() : ends[0].start()]
    return Block(begins[0].start(), ends[0].end(), content.strip("\n"), begins[0]["mark"])


def _in_marker(name: str) -> str:
    """The name of a list as its markers have it."""
    return "" if name == _USUAL_NAME else f" {name}"


def write_block(content: str, name: str) -> str:
    """Content between markers."""
    inner, written = normalize(content), _in_marker(name)
    return f"{_BEGIN.format(name=written, mark=block_fingerprint(inner))}\n{inner}\n{_END.format(name=written)}"


def normalize(content: str) -> str:
    """Content as a wiki keeps it: line ends of one kind, no blanks at the end, none of our markers."""
    lines = content.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n").replace("<!--", "&lt;!--")


def block_fingerprint(content: str) -> str:
    return hashlib.sha256(normalize(content).encode()).hexdigest()[:16]


ADVICE = {
    "abusefilter-disallowed": "a filter of the wiki refuses this edit; ask its administrators",
    "abusefilter-warning": "a filter of the wiki warns about this edit; ask its administrators",
    "articleexists": "somebody created the page a moment ago; publish again",
    "assertnameduserfailed": "the sign-in has ended; sign in again",
    "assertuserfailed": "the sign-in has ended; sign in again",
    "autoblocked": "the account or its address is blocked",
    "badtoken": "the session has ended; sign in again",
    "blocked": "the account is blocked",
    "captcha": "the wiki wants a CAPTCHA solved; use an account that is exempt (autoconfirmed or a bot)",
    "cascadeprotected": "the page is protected",
    "contenttoobig": "the page would be too long; publish fewer rows",
    "editconflict": "somebody saved the page a moment ago; publish again",
    "missingtitle": "the page does not exist; allow its creation, or check its title",
    "mwoauth-invalid-authorization": "the wiki no longer accepts the sign-in; sign in again",
    "nocreate-loggedin": "the account may not create pages",
    "pagedeleted": "the page was deleted a moment ago",
    "permissiondenied": "the account may not edit this page",
    "protectednamespace": "the account may not edit this kind of page",
    "protectedpage": "the page is protected",
    "ratelimited": "the account has edited too often; wait a few minutes",
    "readonly": "the wiki is read-only at the moment; try again later",
    "spamblacklist": "the wiki's list of unwanted sites has an address in this text, perhaps that of this server",
    "titleblacklist-forbidden": "the wiki does not allow this title",
}
"""What to do when the wiki refuses an edit, by the code of its error."""


class RefusedError(WikiApiError):
    """The wiki did not save the edit; nothing was changed."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        if code in ADVICE:
            WikiError.__init__(
                self, "the wiki refused: %(text)s (%(code)s); %(advice)s", text=text, code=code, advice=ADVICE[code]
            )


@dataclass(frozen=True)
class Draft:
    """What a page is, and what it would become."""

    title: str
    base_revision: int | None
    """Revision that the draft was made from; None for a page that does not exist."""
    old_text: str
    new_text: str
    content: str
    """Our part."""
    name: str

    @property
    def is_changed(self) -> bool:
        """Whether our part differs from what the page has; a new time stamp alone counts as a change."""
        return self.old_text != self.new_text

    def difference(self) -> str:
        """The change as a unified diff, for terminals."""
        old, new = (text.splitlines(keepends=False) for text in (self.old_text, self.new_text))
        lines = difflib.unified_diff(old, new, f"{self.title} (on the wiki)", f"{self.title} (new)", lineterm="")
        return "\n".join(lines)


@dataclass(frozen=True)
class Published:
    """What the wiki saved."""

    title: str
    revision: int | None
    """Number of the new revision; None when nothing had changed."""


def draft(
    client: WikiClient,
    title: str,
    content: str,
    name: str = "list",
    *,
    create: bool = False,
    discard_edits: bool = False,
) -> Draft:
    """The page with our part replaced; an error when it does not exist, or when our part was edited by others."""
    record = read_page(client, title)
    if record.get("missing"):
        if not create:
            raise RefusedError("missingtitle", f"there is no page {title}")
        old, revision = "", None
    else:
        revision, old = _revision(record)
    new = replace_block(old, content, name, discard_edits=discard_edits)
    return Draft(text(record, "title"), revision, old, new, normalize(content), name)


def read_page(client: WikiClient, title: str) -> Record:
    """The page of a title with its newest revision; an error when no page can have that title."""
    pages = records(object_at(client.call(action="query", titles=title, **NEWEST_TEXT), "query"), "pages")
    if len(pages) != 1 or pages[0].get("invalid") or pages[0].get("special"):
        raise WikiError("%(title)s: not a title of this wiki", title=title)
    return pages[0]


def publish_draft(client: WikiClient, made: Draft, summary: str, account: str, *, is_bot: bool = False) -> Published:
    """Save a draft as `account`. The wiki refuses it when the page is no longer what the draft was made from.

    The base is named by its revision, not by its time: an edit in the same second would be overwritten silently.
    """
    if not made.is_changed:
        return Published(made.title, None)
    record = _edit(client, _fields(made, summary, account, is_bot))
    if record.get("result") != "Success":
        code = "captcha" if "captcha" in record else str(record.get("code", "unknown"))
        raise RefusedError(code, str(record.get("info", record.get("message", "the edit was not saved"))))
    if record.get("nochange"):
        return Published(made.title, None)
    revision = record_number(record, "newrevid")
    _check_saved(client, made, revision)
    return Published(made.title, revision)


def _fields(made: Draft, summary: str, account: str, is_bot: bool) -> dict[str, str]:
    base = (
        {"createonly": "1"} if made.base_revision is None else {"baserevid": str(made.base_revision), "nocreate": "1"}
    )
    return {
        "title": made.title,
        "text": made.new_text,
        "md5": hashlib.md5(made.new_text.encode(), usedforsecurity=False).hexdigest(),
        "summary": summary,
        "assertuser": account,
        "watchlist": "nochange",
        **base,
        **({"bot": "1"} if is_bot else {}),
    }


def _edit(client: WikiClient, fields: dict[str, str]) -> Record:
    """The outcome of an edit; a token that has become stale is renewed once."""
    for is_last in (False, True):
        try:
            return object_at(client.call(action="edit", token=client.token(), **fields), "edit")
        except WikiApiError as error:
            if error.code != "badtoken" or is_last:
                raise RefusedError(error.code, error.text) from None
    raise AssertionError("unreachable")


def _check_saved(client: WikiClient, made: Draft, revision: int) -> None:
    """An edit of other lines in the same moment is merged by the wiki; our part must have come through as it is."""
    asked = client.call(action="query", revids=str(revision), **NEWEST_TEXT)
    pages = records(object_at(asked, "query"), "pages")
    saved = _revision(pages[0])[1] if pages else ""
    block = find_block(saved, made.name)
    if block is None or block.is_edited:
        raise WikiAnswerError(
            "the wiki saved revision %(revision)s of %(title)s, but not the text that was sent",
            revision=str(revision),
            title=made.title,
        )


def _revision(record: Record) -> tuple[int, str]:
    """Number and text of the newest revision in a record."""
    revisions = records(record, "revisions")
    if len(revisions) != 1:
        raise WikiAnswerError("the wiki's answer does not have exactly one revision")
    return record_number(revisions[0], "revid"), text(object_at(revisions[0], "slots", "main"), "content")
