"""Sign-in against a provider made with Authlib's server classes: two devices, and every way in which it goes wrong."""

from __future__ import annotations

import logging
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from starlette.testclient import TestClient

from evenrank.app.pages import sign_in as pages
from evenrank.app.pages.sign_in import local_path
from evenrank.app.settings import read_sign_in
from evenrank.app.state import AppState
from evenrank.app.storage.sessions import OAuthTokens, Provider, challenge_of, end_sessions_of, seal, unseal
from evenrank.errors import InputError
from evenrank.wikipedia.mediawiki.transport import Transport, WikiResponse
from tests.app.conftest import client_of, posted
from tests.app.oauth_provider import AccountProvider, account_provider
from tests.desk_collections import QUESTION


@pytest.fixture
def provider() -> Iterator[AccountProvider]:
    with account_provider("http://localhost/sign-in/return") as running:
        yield running


@pytest.fixture
def open_to_all(state: AppState, provider: AccountProvider) -> AppState:
    return replace(state, settings=replace(state.settings, sign_in=provider.settings()))


@pytest.fixture
def browser(open_to_all: AppState) -> TestClient:
    return client_of(open_to_all)


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def agree(address: str) -> str:
    """What the provider's page leads to when the person agrees there."""
    try:
        with urllib.request.build_opener(_Stay).open(address) as answer:
            raise AssertionError(answer.read())
    except HTTPError as redirect:
        return str(redirect.headers["Location"])


def sign_in(browser: TestClient, back: str = "/about") -> str:
    """Sign in; where the browser ends up."""
    start = browser.get("/sign-in", params={"back": back})
    assert start.status_code == 303
    end = browser.get(agree(start.headers["location"]))
    assert end.status_code == 303, end.text
    return str(end.headers["location"])


def owner_of(state: AppState, path: str) -> str:
    token = path.rpartition("/")[2]
    row = state.store.connection.execute("SELECT owner FROM work_list WHERE token = ?", (token,)).fetchone()
    return str(row["owner"])


def test_one_person_on_two_devices(open_to_all: AppState, provider: AccountProvider) -> None:
    laptop, phone = client_of(open_to_all), client_of(open_to_all)
    before = posted(laptop, "/lists", QUESTION)
    assert not owner_of(open_to_all, before).startswith("wiki:")
    assert sign_in(laptop) == "/about"
    assert sign_in(phone, "/lists/new") == "/lists/new"
    assert owner_of(open_to_all, before) == "wiki:Ada L."
    assert owner_of(open_to_all, posted(phone, "/lists", QUESTION)) == "wiki:Ada L."
    home = phone.get("/").text
    assert before.rpartition("/")[2] in home
    assert ">Ada L.</span>" in home
    assert "/sign-in?back=/about" in client_of(open_to_all).get("/about").text
    assert laptop.cookies["session"] != phone.cookies["session"]
    laptop.post("/sign-out")
    assert "session" not in laptop.cookies
    assert owner_of(open_to_all, posted(phone, "/lists", QUESTION)) == "wiki:Ada L."
    end_sessions_of(open_to_all.store, "wiki:Ada L.")
    assert not owner_of(open_to_all, posted(phone, "/lists", QUESTION)).startswith("wiki:")


def test_a_stolen_cookie_is_worthless_after_sign_out(browser: TestClient, open_to_all: AppState) -> None:
    sign_in(browser)
    stolen = browser.cookies["session"]
    browser.post("/sign-out")
    thief = client_of(open_to_all)
    thief.cookies.set("session", stolen)
    assert not owner_of(open_to_all, posted(thief, "/lists", QUESTION)).startswith("wiki:")


def test_the_provider_gets_a_challenge_and_no_secret(browser: TestClient, provider: AccountProvider) -> None:
    address = browser.get("/sign-in").headers["location"]
    fields = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert fields["code_challenge_method"] == "S256"
    assert len(fields["code_challenge"]) == 43
    assert fields["redirect_uri"] == provider.redirect_uri
    assert "the-client-secret" not in address
    assert challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_cookies_are_out_of_reach(browser: TestClient) -> None:
    start = browser.get("/sign-in")
    end = browser.get(agree(start.headers["location"]))
    for header in (*start.headers.get_list("set-cookie"), end.headers.get_list("set-cookie")[0]):
        assert "HttpOnly" in header
        assert "SameSite=lax" in header


@pytest.mark.parametrize("tampered", ["state=x", "state=", "other browser", "no code"])
def test_answers_that_nobody_asked_for_are_refused(browser: TestClient, open_to_all: AppState, tampered: str) -> None:
    answer = agree(browser.get("/sign-in").headers["location"])
    code = parse_qs(urlsplit(answer).query)["code"][0]
    if tampered == "other browser":
        result = client_of(open_to_all).get(answer)
    elif tampered == "no code":
        state = parse_qs(urlsplit(answer).query)["state"][0]
        result = browser.get("/sign-in/return", params={"state": state, "error": "access_denied"})
    else:
        result = browser.get(f"/sign-in/return?code={code}&{tampered}")
    assert result.status_code == 400
    assert "session" not in browser.cookies


def test_states_that_the_server_did_not_make_ask_the_provider_nothing(
    browser: TestClient, open_to_all: AppState, provider: AccountProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A visitor who set cookie and state alike made the server wait for the provider, as often as they liked."""
    asked: list[object] = []
    monkeypatch.setattr(Provider, "_tokens", lambda *fields: asked.append(fields))
    begun = parse_qs(urlsplit(browser.get("/sign-in").headers["Location"]).query)["state"][0]
    nonce, seconds, seal_of_it = begun.split(".")
    old = f"{nonce}.{int(seconds) - 700}.{seal_of_it}"
    for state in ("x", "a.b.c", "", ".", f"{nonce}.{seconds}.", f"{nonce}x.{seconds}.{seal_of_it}", old):
        stranger = client_of(open_to_all)
        stranger.cookies.set("signing-in", f"{state}|/")
        answer = stranger.get("/sign-in/return", params={"state": state, "code": "x"})
        assert answer.status_code == 400
    assert asked == []


@pytest.mark.parametrize("access", ["a\r\nX-Evil: 1", "☃", "a b", pytest.param("x" * 20_000, id="long"), "", 5, None])
def test_tokens_that_are_none_are_refused_and_not_logged(
    browser: TestClient, access: object, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    record = {"access_token": access, "token_type": "bearer", "expires_in": -1e300, "refresh_token": 7}
    answer = WikiResponse(200, "application/json", None, orjson.dumps(record))
    monkeypatch.setattr(Transport, "post", lambda *_: answer)
    state = parse_qs(urlsplit(browser.get("/sign-in").headers["Location"]).query)["state"][0]
    with caplog.at_level(logging.DEBUG):
        page = browser.get("/sign-in/return", params={"state": state, "code": "SECRET-CODE"})
    assert page.status_code == 400
    assert "gave no token" in page.text
    logged = "".join(record.getMessage() for record in caplog.records if record.name.startswith("evenrank"))
    assert "sign-in failed" in logged
    assert "SECRET-CODE" not in logged + page.text
    assert "X-Evil" not in logged


def test_a_slow_provider_does_not_hold_every_thread(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_PLACES", threading.BoundedSemaphore(1))
    monkeypatch.setattr(pages, "WAIT_SECONDS", 0.05)
    state = parse_qs(urlsplit(browser.get("/sign-in").headers["Location"]).query)["state"][0]
    with pages._PLACES:
        busy = browser.get("/sign-in/return", params={"state": state, "code": "x"})
    assert busy.status_code == 503
    assert busy.headers["Retry-After"]
    assert browser.get("/sign-in/return", params={"state": state, "code": "x"}).status_code == 400


def test_a_code_works_once_and_only_with_its_verifier(browser: TestClient, open_to_all: AppState) -> None:
    answer = agree(browser.get("/sign-in").headers["location"])
    code = parse_qs(urlsplit(answer).query)["code"][0]
    other = client_of(open_to_all)
    state = parse_qs(urlsplit(other.get("/sign-in").headers["location"]).query)["state"][0]
    stolen = other.get(f"/sign-in/return?code={code}&state={state}")
    assert stolen.status_code == 400
    assert "invalid_grant" in stolen.text
    pending = browser.cookies["signing-in"]
    assert browser.get(answer).status_code == 303
    browser.cookies.set("signing-in", pending)
    assert browser.get(answer).status_code == 400


def test_a_blocked_account_and_a_strange_profile(browser: TestClient, provider: AccountProvider) -> None:
    for profile, says in (({"blocked": True}, "blocked"), ({"username": ""}, "whose"), ({"username": ["x"]}, "whose")):
        provider.profile = profile
        answer = browser.get(agree(browser.get("/sign-in").headers["location"]))
        assert answer.status_code == 400
        assert says in answer.text


def test_a_provider_that_is_away(browser: TestClient, state: AppState) -> None:
    with account_provider("http://localhost/sign-in/return") as gone:
        away = client_of(replace(state, settings=replace(state.settings, sign_in=gone.settings())))
        answer = agree(away.get("/sign-in").headers["location"])
    result = away.get(answer)
    assert result.status_code == 400
    assert "does not answer" in result.text


def test_tokens_are_renewed_and_readable_with_the_cookie_only(
    browser: TestClient, open_to_all: AppState, provider: AccountProvider, caplog: pytest.LogCaptureFixture
) -> None:
    from starlette.requests import Request

    from evenrank.app.pages.sign_in import access_token

    provider.seconds = 1
    with caplog.at_level(logging.DEBUG):
        sign_in(browser)
        cookie = browser.cookies["session"]
        scope = {"type": "http", "headers": [(b"cookie", f"session={cookie}".encode())], "app": browser.app}
        first = list(provider.tokens)
        provider.seconds = 3600
        renewed = access_token(Request(scope))
        assert renewed not in first
        assert renewed in provider.tokens
        assert access_token(Request(scope)) == renewed
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("evenrank", "urllib3"))]
    assert ours
    stored = open_to_all.store.connection.execute("SELECT * FROM session").fetchall()
    content = " ".join(str(bytes(value) if isinstance(value, bytes) else value) for row in stored for value in row)
    for secret in (cookie, *provider.tokens, "the-client-secret"):
        assert secret not in content
        assert secret not in "\n".join(ours)
    assert access_token(Request({**scope, "headers": []})) is None


def test_seals() -> None:
    tokens = OAuthTokens("access", "refresh", 5.0)
    assert unseal("cookie", seal("cookie", tokens)) == tokens
    assert unseal("other", seal("cookie", tokens)) is None
    assert seal("cookie", tokens) != seal("cookie", tokens)
    assert unseal("cookie", "no hex") is None
    assert "access" not in repr(tokens)


@pytest.mark.parametrize(
    "path", ["", "//evil.example", "https://evil.example", "/\\evil.example", "/x\r\nSet-Cookie: a=b", "javascript:x"]
)
def test_nobody_is_led_elsewhere(path: str) -> None:
    assert local_path(path, "") == "/"
    assert local_path(path, "/evenrank") == "/evenrank/"
    assert local_path("/lists/new?title=x", "") == "/lists/new?title=x"
    assert local_path("/lists", "/evenrank") == "/evenrank/"


def test_without_a_provider_there_is_no_sign_in(client: TestClient) -> None:
    assert client.get("/sign-in").status_code == 404
    assert client.get("/sign-in/return").status_code == 404


def test_the_settings_file(tmp_path: Path) -> None:
    path = tmp_path / "sign-in.toml"
    client = 'client_id = "a"\nclient_secret = "b"\ncontact = "c"\n'
    path.write_text(
        'rest = "https://meta.example.org/w/rest.php"\nclient_id = "a"\nclient_secret = "b"\ncontact = "c"\n'
    )
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        read_sign_in(path)
    path.chmod(0o600)
    settings = read_sign_in(path)
    assert settings.token_url == "https://meta.example.org/w/rest.php/oauth2/access_token"
    assert '"b"' not in repr(settings)
    path.write_text('rest = "https://x.org"\nclient = 1\n')
    with pytest.raises(InputError) as caught:
        read_sign_in(path)
    assert len(caught.value.faults) == 5
    path.write_text(f'rest = "http://x.org"\n{client}')
    with pytest.raises(Exception, match="https"):
        read_sign_in(path)
