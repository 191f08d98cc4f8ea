"""A small provider of accounts on loopback, made with Authlib's server classes: authorization code, PKCE required."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from authlib.oauth2.rfc6749 import AuthorizationServer, ClientMixin, OAuth2Request, grants
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7636 import CodeChallenge

from evenrank.app.settings import SignInSettings

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # loopback
CLIENT_ID, CLIENT_SECRET = "desk", "the-client-secret"


class Client(ClientMixin):
    def __init__(self, provider: AccountProvider) -> None:
        self.provider = provider

    def get_client_id(self) -> str:
        return CLIENT_ID

    def get_default_redirect_uri(self) -> str:
        return self.provider.redirect_uri

    def get_allowed_scope(self, scope: str) -> str:
        return ""

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri == self.provider.redirect_uri

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == CLIENT_SECRET

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_post"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in ("authorization_code", "refresh_token")


@dataclass
class Code:
    user: str
    redirect_uri: str
    code_challenge: str
    code_challenge_method: str

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return ""


@dataclass
class Token:
    user: str
    refresh: str

    def check_client(self, client: Client) -> bool:
        return True

    def get_scope(self) -> str:
        return ""

    def get_expires_in(self) -> int:
        return 3600


@dataclass
class AccountProvider:
    """Accounts and what was granted to whom."""

    user: str = "Ada L."
    """Who agrees next; empty refuses."""
    redirect_uri: str = ""
    profile: dict[str, Any] = field(default_factory=dict)
    """What the profile says beside the name."""
    seconds: int = 3600
    """How long access tokens last."""
    codes: dict[str, Code] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    url: str = ""

    def settings(self) -> SignInSettings:
        addresses = (f"{self.url}/oauth2/{name}" for name in ("authorize", "access_token", "resource/profile"))
        return SignInSettings(*addresses, CLIENT_ID, CLIENT_SECRET, "tests@example.org", "Test wiki")


class CodeGrant(grants.AuthorizationCodeGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_post",)

    def save_authorization_code(self, code: str, request: OAuth2Request) -> None:
        data = request.payload.data
        challenge = (data.get("code_challenge", ""), data.get("code_challenge_method", ""))
        self.server.provider.codes[code] = Code(request.user, request.payload.redirect_uri, *challenge)

    def query_authorization_code(self, code: str, client: Client) -> Code | None:
        found: Code | None = self.server.provider.codes.get(code)
        return found

    def delete_authorization_code(self, authorization_code: Code) -> None:
        codes = self.server.provider.codes
        for code in [code for code, found in codes.items() if found is authorization_code]:
            del codes[code]

    def authenticate_user(self, authorization_code: Code) -> str:
        return authorization_code.user


class RefreshGrant(grants.RefreshTokenGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_post",)
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> Token | None:
        return next((token for token in self.server.provider.tokens.values() if token.refresh == refresh_token), None)

    def authenticate_user(self, refresh_token: Token) -> str:
        return refresh_token.user

    def revoke_old_credential(self, refresh_token: Token) -> None:
        refresh_token.refresh = ""


class Server(AuthorizationServer):  # type: ignore[misc]
    def __init__(self, provider: AccountProvider) -> None:
        super().__init__()
        self.provider = provider
        self.register_grant(CodeGrant, [CodeChallenge(required=True)])
        self.register_grant(RefreshGrant)
        count = iter(range(10**6))
        generator = BearerTokenGenerator(
            access_token_generator=lambda **_: f"access-{next(count)}-{time.time_ns()}",
            refresh_token_generator=lambda **_: f"refresh-{next(count)}-{time.time_ns()}",
            expires_generator=lambda client, grant_type: provider.seconds,
        )
        self.register_token_generator("default", generator)

    def query_client(self, client_id: str) -> Client | None:
        return Client(self.provider) if client_id == CLIENT_ID else None

    def save_token(self, token: dict[str, Any], request: OAuth2Request) -> None:
        self.provider.tokens[token["access_token"]] = Token(request.user, token.get("refresh_token", ""))

    def create_oauth2_request(self, request: OAuth2Request) -> OAuth2Request:
        return request

    def handle_response(self, status: int, body: Any, headers: list[tuple[str, str]]) -> tuple[int, Any, Any]:
        return status, body, headers

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        pass


class Exchange(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server: Any = self.server
        provider: AccountProvider = server.provider
        path = urlsplit(self.path)
        if path.path == "/oauth2/authorize":
            request = self._request(dict(parse_qsl(path.query)))
            grant = server.oauth.get_consent_grant(request, provider.user)
            self._send(*server.oauth.create_authorization_response(request, provider.user or None, grant))
        elif path.path == "/oauth2/resource/profile":
            token = provider.tokens.get(self.headers.get("Authorization", "").removeprefix("Bearer "))
            known = {"sub": 7, "username": token.user, **provider.profile} if token else {"error": "invalid_token"}
            self._send(200 if token else 401, known, [("Content-Type", "application/json")])

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        server: Any = self.server
        self._send(*server.oauth.create_token_response(self._request(dict(parse_qsl(body)))))

    def log_message(self, *_: object) -> None:
        pass

    def _request(self, fields: dict[str, str]) -> OAuth2Request:
        server: Any = self.server
        request = FormRequest(self.command, f"{server.provider.url}{self.path}", headers=dict(self.headers))
        request.payload = BasicOAuth2Payload(fields)
        return request

    def _send(self, status: int, body: Any, headers: Any) -> None:
        content = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class FormRequest(OAuth2Request):  # type: ignore[misc]
    @property
    def form(self) -> dict[str, str]:
        found: dict[str, str] = self.payload.data
        return found

    @property
    def args(self) -> dict[str, str]:
        return self.form


@contextmanager
def account_provider(redirect_uri: str) -> Iterator[AccountProvider]:
    """A running provider that sends browsers back to `redirect_uri`."""
    provider = AccountProvider(redirect_uri=redirect_uri)
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Exchange)
    server.provider, server.oauth = provider, Server(provider)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
