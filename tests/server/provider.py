"""A small provider of OpenID Connect on this machine: it takes everybody for the same person."""

from __future__ import annotations

import json
import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET, CODE = "acvb", "secret of the client", "code-of-ada"
SUBJECT = "ada"


class Provider(ThreadingHTTPServer):
    """The provider; `issuer` is its address."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.key = RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"})
        self.nonce = ""

    def write_id_token(self) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": SUBJECT, "aud": CLIENT, "iat": now, "exp": now + 600}
        claims |= {"nonce": self.nonce, "email": "ada@example.org"}
        return jwt.encode({"alg": "RS256", "kid": "1"}, claims, self.key)


class _Answers(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(address.query).items()}
        issuer = self.server.issuer
        if address.path == "/.well-known/openid-configuration":
            self._answer(
                {
                    "issuer": issuer,
                    "authorization_endpoint": f"{issuer}/authorize",
                    "token_endpoint": f"{issuer}/token",
                    "jwks_uri": f"{issuer}/keys",
                    "id_token_signing_alg_values_supported": ["RS256"],
                    "code_challenge_methods_supported": ["S256"],
                }
            )
        elif address.path == "/keys":
            self._answer({"keys": [self.server.key.as_dict(private=False)]})
        elif address.path == "/authorize" and asked["client_id"] == CLIENT:
            self.server.nonce = asked["nonce"]
            self.send_response(302)
            back = urlencode({"code": CODE, "state": asked["state"]})
            self.send_header("Location", f"{asked['redirect_uri']}?{back}")
            self.end_headers()
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        client = b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        if self.path != "/token" or asked["code"] != [CODE] or client != f"{CLIENT}:{SECRET}":
            self.send_error(400)
            return
        token = {"access_token": "a", "token_type": "Bearer", "expires_in": 600}
        self._answer(token | {"id_token": self.server.write_id_token()})

    def _answer(self, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def start_provider() -> Iterator[Provider]:
    """Run a provider in this process."""
    provider = Provider()
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    yield provider
    provider.shutdown()
    provider.server_close()
