"""From sign-in to an edit on a real MediaWiki: the person's own token, account and rights."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mediawiki import EDITOR, MediaWiki

pytest.importorskip("starlette", reason="needs the extra web")

from evenrank.app.storage.sessions import Provider
from evenrank.wikipedia.mediawiki.client import WikiClient
from evenrank.wikipedia.mediawiki.publish import RefusedError, draft, publish_draft
from evenrank.wikipedia.mediawiki.settings import WikiSettings
from tests.app.oauth_provider import AccountProvider, account_provider
from tests.app.test_signin import agree

pytestmark = pytest.mark.xdist_group("mediawiki")
BACK = "http://localhost/sign-in/return"


@pytest.fixture
def accounts(wiki: MediaWiki) -> Iterator[AccountProvider]:
    with account_provider(BACK) as provider:
        provider.user = EDITOR[0]
        wiki.accept_tokens_of(provider.settings().profile_url)
        yield provider
    wiki.configure("")


def token_of(provider: AccountProvider) -> str:
    client = Provider(provider.settings())
    answer = agree(client.authorize_url("state", "v" * 43, BACK))
    code = answer.partition("code=")[2].partition("&")[0]
    return client.exchange(code, "v" * 43, BACK).access


def test_an_edit_is_the_persons_own(wiki: MediaWiki, accounts: AccountProvider) -> None:
    with WikiClient(WikiSettings(wiki.api_url, "tests@example.org")) as client:
        client.authorize(token_of(accounts))
        done = publish_draft(
            client, draft(client, "Project:Signed in", "* [[Chess]]", create=True), "A list", EDITOR[0]
        )
        history = client.call(action="query", revids=str(done.revision), prop="revisions", rvprop="user|comment")
    [revision] = history["query"]["pages"][0]["revisions"]
    assert (revision["user"], revision["comment"]) == (EDITOR[0], "A list")


def test_a_token_that_has_ended_saves_nothing(wiki: MediaWiki, accounts: AccountProvider) -> None:
    with WikiClient(WikiSettings(wiki.api_url, "tests@example.org")) as client:
        client.authorize(token_of(accounts))
        accounts.tokens.clear()
        with pytest.raises(RefusedError, match="sign in again"):
            publish_draft(client, draft(client, "Project:Ended", "* [[Chess]]", create=True), "A list", EDITOR[0])
