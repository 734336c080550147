"""A service that checks Latchkey's tokens with nothing but Python's standard library."""

import base64
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SERVER = os.environ.get("LATCHKEY_SERVER", "http://localhost:8787")
BASIC = base64.b64encode(os.environ["SERVICE_KEY"].encode()).decode()
KEEP_SECONDS = 5
MAX_KEPT = 10_000
kept = {}


class Refused(Exception):
    """A response that is not the caller's data: its status, error code and WWW-Authenticate."""

    def __init__(self, status, error, challenge=None):
        super().__init__(error)
        self.status, self.error, self.challenge = status, error, challenge


def introspect(token):
    """What Latchkey says about a token, kept for a few seconds."""
    answer, until = kept.get(token, (None, 0))
    if time.monotonic() < until:
        return answer
    asked = time.monotonic()
    request = urllib.request.Request(
        SERVER + "/api/v1/auth/introspect",
        data=urllib.parse.urlencode({"token": token}).encode(),
        headers={"Authorization": "Basic " + BASIC},
    )
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            answer = json.load(response)
    except (OSError, ValueError):
        # Latchkey cannot be asked. That says nothing about the token, so it is not a 401.
        raise Refused(503, "temporarily_unavailable") from None
    if len(kept) >= MAX_KEPT:
        kept.clear()
    kept[token] = (answer, asked + min(KEEP_SECONDS, answer.get("exp", 0) - time.time()))
    return answer


def require_caller(headers, scope):
    """The introspection response of a caller whose token has this scope."""
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Refused(401, "invalid_token", 'Bearer realm="projects"')
    caller = introspect(token.strip())
    if caller.get("active") is not True or caller.get("token_use") not in ("access_token", "key"):
        raise Refused(401, "invalid_token", 'Bearer realm="projects", error="invalid_token"')
    granted = caller.get("scope", "").split()
    # This service enforces no type of authorization details, so it refuses every token that has some.
    if caller.get("authorization_details") or (scope not in granted and "*" not in granted):
        challenge = f'Bearer realm="projects", error="insufficient_scope", scope="{scope}"'
        raise Refused(403, "insufficient_scope", challenge)
    return caller


class Projects(BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            caller = require_caller(self.headers, "projects:read")
            self.respond(200, {"user": caller["sub"]})
        except Refused as refused:
            self.respond(refused.status, {"error": refused.error}, refused.challenge)

    def respond(self, status, body, challenge=None):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if challenge:
            self.send_header("WWW-Authenticate", challenge)
        if status == 503:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Projects).serve_forever()
