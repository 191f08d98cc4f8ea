"""Publishing to a real MediaWiki, with people who edit in between and every way in which a wiki refuses."""

from __future__ import annotations

from collections.abc import Iterator

import mwclient
import pytest

from evenrank.wikipedia.mediawiki.client import WikiClient
from evenrank.wikipedia.mediawiki.publish import (
    Draft,
    EditedByOthersError,
    RefusedError,
    draft,
    publish_draft,
)
from evenrank.wikipedia.mediawiki.settings import WikiApiError, WikiError, WikiSettings
from tests.mediawiki import ADMIN, BOT, EDITOR, MediaWiki, preview

pytestmark = pytest.mark.xdist_group("mediawiki")
ACCOUNT = BOT[0].partition("@")[0]
LIST = "* [[Chess]]\n* [[Go]]"


@pytest.fixture
def bot(wiki: MediaWiki) -> Iterator[WikiClient]:
    waits: list[float] = []
    with WikiClient(WikiSettings(wiki.api_url, "tests@example.org"), sleep=waits.append) as client:
        client.log_in(*BOT)
        yield client


@pytest.fixture
def human(wiki: MediaWiki) -> mwclient.Site:
    return person(wiki, EDITOR)


@pytest.fixture
def configured(wiki: MediaWiki) -> Iterator[MediaWiki]:
    """The wiki, whose settings are put back."""
    yield wiki
    wiki.configure("")


def person(wiki: MediaWiki, account: tuple[str, str]) -> mwclient.Site:
    site = mwclient.Site(f"127.0.0.1:{wiki.port}", scheme="http", path="/w/")
    site.clientlogin(username=account[0], password=account[1])
    return site


def made(bot: WikiClient, title: str, content: str = LIST) -> Draft:
    """A page that was published once."""
    publish_draft(bot, draft(bot, title, content, create=True), "First list", ACCOUNT)
    return draft(bot, title, content)


def test_a_page_is_created_then_refreshed_then_left_alone(bot: WikiClient, wiki: MediaWiki) -> None:
    with pytest.raises(RefusedError, match="does not exist"):
        draft(bot, "Project:Lists/One", LIST)
    first = publish_draft(bot, draft(bot, "Project:Lists/One", LIST, create=True), "First list", ACCOUNT, is_bot=True)
    assert first.revision is not None
    second = publish_draft(bot, draft(bot, "Project:Lists/One", f"{LIST}\n* [[Shogi]]"), "Refreshed", ACCOUNT)
    assert second.revision is not None
    assert second.revision > first.revision
    again = draft(bot, "Project:Lists/One", f"{LIST}\n* [[Shogi]]")
    assert not again.is_changed
    assert publish_draft(bot, again, "Nothing", ACCOUNT).revision is None
    assert "* [[Shogi]]\n<!-- End" in wiki.text("Project:Lists/One")


def test_what_people_write_around_survives(bot: WikiClient, human: mwclient.Site, wiki: MediaWiki) -> None:
    made(bot, "Project:Lists/Around")
    page = human.pages["Project:Lists/Around"]
    page.save(f"== Welcome ==\n{page.text(cache=False)}\nSigned, ~~~~", "words around")
    publish_draft(bot, draft(bot, "Project:Lists/Around", "* [[Xiangqi]]"), "Refreshed", ACCOUNT)
    text = wiki.text("Project:Lists/Around")
    assert text.startswith("== Welcome ==\n<!-- Evenrank list")
    assert "* [[Xiangqi]]" in text
    assert "[[Chess]]" not in text
    assert "Signed, [[User:Editor|Editor]]" in text


def test_an_edit_in_the_same_second_is_not_overwritten(bot: WikiClient, human: mwclient.Site, wiki: MediaWiki) -> None:
    made(bot, "Project:Lists/Race")
    waiting = draft(bot, "Project:Lists/Race", "* [[Shogi]]")
    page = human.pages["Project:Lists/Race"]
    page.save(page.text(cache=False).replace("* [[Go]]", "* [[Go]] I am on it"), "claimed")
    with pytest.raises(RefusedError, match="publish again") as caught:
        publish_draft(bot, waiting, "Refreshed", ACCOUNT)
    assert caught.value.code == "editconflict"
    with pytest.raises(EditedByOthersError):
        draft(bot, "Project:Lists/Race", "* [[Shogi]]")
    assert "I am on it" in wiki.text("Project:Lists/Race")
    publish_draft(bot, draft(bot, "Project:Lists/Race", "* [[Shogi]]", discard_edits=True), "Refreshed", ACCOUNT)
    assert "I am on it" not in wiki.text("Project:Lists/Race")


def test_an_edit_of_other_lines_is_merged(bot: WikiClient, human: mwclient.Site, wiki: MediaWiki) -> None:
    wiki.put("Project:Lists/Merge", "Top\n\n\n\nMiddle\n\n\n\n")
    made(bot, "Project:Lists/Merge")
    waiting = draft(bot, "Project:Lists/Merge", "* [[Shogi]]")
    page = human.pages["Project:Lists/Merge"]
    page.save(page.text(cache=False).replace("Top", "Top, by a human"), "above")
    publish_draft(bot, waiting, "Refreshed", ACCOUNT)
    text = wiki.text("Project:Lists/Merge")
    assert text.startswith("Top, by a human")
    assert "* [[Shogi]]" in text


def test_two_who_create_the_same_page(bot: WikiClient, human: mwclient.Site, wiki: MediaWiki) -> None:
    waiting = draft(bot, "Project:Lists/New", LIST, create=True)
    human.pages["Project:Lists/New"].save("A human was faster.", "new")
    with pytest.raises(RefusedError, match="publish again") as caught:
        publish_draft(bot, waiting, "First list", ACCOUNT)
    assert caught.value.code == "articleexists"
    assert wiki.text("Project:Lists/New").strip() == "A human was faster."


def test_a_page_deleted_meanwhile_is_not_brought_back(bot: WikiClient, wiki: MediaWiki) -> None:
    made(bot, "Project:Lists/Deleted")
    waiting = draft(bot, "Project:Lists/Deleted", "* [[Shogi]]")
    admin = person(wiki, ADMIN)
    admin.post("delete", title="Project:Lists/Deleted", token=admin.get_token("csrf"))
    with pytest.raises(RefusedError) as caught:
        publish_draft(bot, waiting, "Refreshed", ACCOUNT)
    assert caught.value.code in ("missingtitle", "nosuchrevid", "editconflict", "pagedeleted")


def test_difference_and_preview(bot: WikiClient) -> None:
    made(bot, "Project:Lists/Preview")
    waiting = draft(bot, "Project:Lists/Preview", "* [[Chess]]\n* [[Shogi]] '''new'''")
    assert "+* [[Shogi]] '''new'''" in waiting.difference().splitlines()
    assert "-* [[Go]]" in waiting.difference().splitlines()
    shown = preview(bot, waiting)
    assert "<b>new</b>" in shown
    assert 'title="Chess"' in shown


def refusal(bot: WikiClient, waiting: Draft, account: str = ACCOUNT) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        publish_draft(bot, waiting, "Refreshed", account)
    return caught.value


@pytest.mark.parametrize(
    "code, php",
    [
        ("readonly", "$wgReadOnly = 'Maintenance';"),
        ("ratelimited", "$wgRateLimits['edit'] = [ 'user' => [ 1, 3600 ], '&can-bypass' => false ];"),
        ("captcha", "$wgCaptchaTriggers['edit'] = true; $wgGroupPermissions['bot']['skipcaptcha'] = false;"),
        ("contenttoobig", "$wgMaxArticleSize = 0.05;"),
        ("protectednamespace", "$wgNamespaceProtection[NS_PROJECT] = [ 'editinterface' ];"),
    ],
)  # fmt: skip
def test_each_refusal_has_its_code(configured: MediaWiki, bot: WikiClient, code: str, php: str) -> None:
    made(bot, "Project:Lists/Refused", "* [[Chess]]")
    waiting = [draft(bot, "Project:Lists/Refused", f"* [[Go {at}]]") for at in range(2)]
    configured.configure(php)
    error = None
    for one in waiting:
        try:
            publish_draft(bot, one, "Refreshed", ACCOUNT)
        except RefusedError as caught:
            error = caught
    assert error is not None
    assert error.code == code
    assert "; " in str(error)


def test_a_protected_page(bot: WikiClient, wiki: MediaWiki) -> None:
    waiting = made(bot, "Project:Lists/Protected", "x")
    wiki.maintain("protect", "Project:Lists/Protected")
    waiting = draft(bot, "Project:Lists/Protected", LIST)
    assert refusal(bot, waiting).code == "protectedpage"


def test_a_blocked_account(bot: WikiClient, wiki: MediaWiki) -> None:
    made(bot, "Project:Lists/Blocked", "x")
    waiting = draft(bot, "Project:Lists/Blocked", LIST)
    admin = person(wiki, ADMIN)
    admin.post("block", user=ACCOUNT, reason="test", token=admin.get_token("csrf"))
    try:
        error = refusal(bot, waiting)
        assert error.code == "blocked"
        assert "the account is blocked" in str(error)
    finally:
        admin.post("unblock", user=ACCOUNT, token=admin.get_token("csrf"))


def test_another_account_than_expected(bot: WikiClient) -> None:
    waiting = draft(bot, "Project:Lists/Account", LIST, create=True)
    error = refusal(bot, waiting, "Editor")
    assert error.code == "assertnameduserfailed"
    assert "sign in again" in str(error)


def test_a_filter_and_the_list_of_unwanted_sites(bot: WikiClient, wiki: MediaWiki) -> None:
    wiki.put("MediaWiki:Spam-blacklist", r"desk\.unwanted\.example")
    waiting = draft(bot, "Project:Lists/Spam", "[https://desk.unwanted.example/lists/x regenerate]", create=True)
    assert refusal(bot, waiting).code == "spamblacklist"
    wiki.maintain(
        "sql",
        "--query",
        "INSERT INTO abuse_filter (af_pattern, af_user, af_user_text, af_timestamp, af_enabled, af_comments, "
        "af_public_comments, af_hidden, af_hit_count, af_throttled, af_deleted, af_actions, af_global, af_group) "
        "VALUES ('added_lines contains \"forbidden words\"', 1, 'Admin', '20200101000000', 1, '', 'No such words', "
        "0, 0, 0, 0, 'disallow', 0, 'default')",
    )
    wiki.maintain(
        "sql", "--query", "INSERT INTO abuse_filter_action (afa_filter, afa_consequence, afa_parameters) "
        "SELECT af_id, 'disallow', '' FROM abuse_filter",
    )  # fmt: skip
    error = refusal(bot, draft(bot, "Project:Lists/Filter", "forbidden words", create=True))
    assert error.code == "abusefilter-disallowed"
    assert "ask its administrators" in str(error)


def test_without_sign_in_nothing_is_saved(reader: WikiClient) -> None:
    with pytest.raises(RefusedError) as caught:
        publish_draft(reader, draft(reader, "Project:Lists/Nobody", LIST, create=True), "x", ACCOUNT)
    assert caught.value.code == "assertnameduserfailed"


@pytest.mark.parametrize("title", ["", "<x>", "A|B", "Special:Log", "[[Chess]]"])
def test_titles_that_no_page_can_have(bot: WikiClient, title: str) -> None:
    with pytest.raises((WikiError, WikiApiError)):
        draft(bot, title, LIST, create=True)
