"""A small provider of OpenID Connect on this machine: it takes everybody for the same person."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET, CODE = "acvb", "secret of the client", "code-of-ada"


class Provider(ThreadingHTTPServer):
    """The provider; `issuer` is its address."""

    daemon_threads = True
    nonce = ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.key = RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"})

    def describe(self) -> dict[str, Any]:
        """Return its metadata, by which a client finds the other addresses."""
        ends = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        addresses = {name: f"{self.issuer}/{end}" for name, end in ends.items()}
        kinds = {
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }
        return {"issuer": self.issuer, **addresses, **kinds}

    def write_token(self) -> dict[str, Any]:
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": "ada", "aud": CLIENT, "iat": now, "exp": now + 600}
        claims |= {"nonce": self.nonce, "email": "ada@example.org"}
        signed = jwt.encode({"alg": "RS256", "kid": "1"}, claims, self.key)
        return {"access_token": "a", "token_type": "Bearer", "expires_in": 600, "id_token": signed}


class _Answers(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path == "/authorize":
            asked = dict(parse_qsl(address.query))
            self.server.nonce = asked["nonce"]
            back = urlencode({"code": CODE, "state": asked["state"]})
            self._answer(302, {}, Location=f"{asked['redirect_uri']}?{back}")
        elif address.path == "/keys":
            self._answer(200, {"keys": [self.server.key.as_dict(private=False)]})
        else:
            self._answer(200, self.server.describe())

    def do_POST(self) -> None:
        asked = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        self._answer(200 if asked["code"] == CODE else 400, self.server.write_token())

    def _answer(self, status: int, content: dict[str, Any], **headers: str) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def start_provider() -> Iterator[Provider]:
    """Run a provider in this process."""
    with Provider() as provider:
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        yield provider
        provider.shutdown()
