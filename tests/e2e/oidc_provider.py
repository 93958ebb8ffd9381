"""A small OpenID Connect provider for the tests: discovery, keys, an authorisation endpoint that lets everybody in, a token
endpoint that checks PKCE. What it puts into an ID token, and how it signs it, a test can bend.
"""

import base64
import hashlib
import hmac
import http.server
import json
import secrets
import threading
import time
import urllib.parse

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int) -> str:
    return b64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class Key:
    """RS256 or ES256, under a name of its own."""

    def __init__(self, alg: str):
        self.alg, self.kid = alg, secrets.token_hex(4)
        self.private = rsa.generate_private_key(65537, 2048) if alg == "RS256" else ec.generate_private_key(ec.SECP256R1())

    def public(self) -> dict:
        n = self.private.public_key().public_numbers()
        parts = {"kty": "RSA", "n": number(n.n), "e": number(n.e)} if self.alg == "RS256" else {
            "kty": "EC", "crv": "P-256", "x": b64(n.x.to_bytes(32, "big")), "y": b64(n.y.to_bytes(32, "big"))}
        return {**parts, "kid": self.kid, "alg": self.alg, "use": "sig"}

    def pem(self) -> bytes:
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    def sign(self, text: bytes) -> bytes:
        if self.alg == "RS256":
            return self.private.sign(text, padding.PKCS1v15(), hashes.SHA256())
        r, s = decode_dss_signature(self.private.sign(text, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


class Provider:
    def __init__(self, alg: str = "RS256"):
        self.keys = [Key(alg)]
        self.user = {"sub": "u-1", "preferred_username": "grace", "groups": ["ops"]}
        self.codes: dict[str, dict] = {}
        # What a test wants to be wrong: claims to change, and how the token is signed.
        self.bend: dict = {}
        self.signed = "properly"
        self.down = False
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, status, body=None, headers=None):
                data = json.dumps(body).encode() if body is not None else b""
                self.send_response(status)
                for name, value in {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                url = urllib.parse.urlparse(self.path)
                query = dict(urllib.parse.parse_qsl(url.query))
                if provider.down:
                    return self.answer(503, {"error": "down"})
                if url.path == "/.well-known/openid-configuration":
                    return self.answer(200, provider.metadata())
                if url.path == "/jwks":
                    return self.answer(200, {"keys": [key.public() for key in provider.keys]})
                if url.path == "/authorize":
                    code = secrets.token_urlsafe(16)
                    provider.codes[code] = query
                    back = urllib.parse.urlencode({"code": code, "state": query["state"]})
                    return self.answer(303, headers={"location": f"{query['redirect_uri']}?{back}"})
                # A browser asks everybody for one, and says so when there is none.
                self.answer(204 if url.path == "/favicon.ico" else 404)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                form = dict(urllib.parse.parse_qsl(body))
                asked = provider.codes.pop(form.get("code", ""), None)
                verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
                if asked is None or asked.get("code_challenge_method") != "S256" or b64(verifier) != asked["code_challenge"]:
                    return self.answer(400, {"error": "invalid_grant"})
                self.answer(200, {"access_token": "at", "token_type": "Bearer", "expires_in": 60,
                                  "id_token": provider.id_token(asked)})

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def metadata(self) -> dict:
        return {
            "issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token", "jwks_uri": f"{self.issuer}/jwks",
            "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "HS256", "none"],
        }

    def id_token(self, asked: dict) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": asked["client_id"], "iat": now, "exp": now + 60,
                  "nonce": asked.get("nonce"), **self.user, **self.bend}
        key = self.keys[-1]
        header = {"alg": key.alg, "kid": key.kid, "typ": "JWT"}
        match self.signed:
            case "properly":
                sign = key.sign
            case "not at all":
                header["alg"], sign = "none", lambda _: b""
            case "hs256 with the public key":
                header["alg"], sign = "HS256", lambda text: hmac.digest(key.pem(), text, "sha256")
            case "hs256 with the secret":
                header["alg"], sign = "HS256", lambda text: hmac.digest(b"shared secret", text, "sha256")
            case "by a stranger":
                sign = Key(key.alg).sign
            case "by an unknown key":
                stranger = Key(key.alg)
                header["kid"], sign = stranger.kid, stranger.sign
            case other:
                raise AssertionError(other)
        text = f"{b64(json.dumps(header).encode())}.{b64(json.dumps(claims).encode())}"
        return f"{text}.{b64(sign(text.encode()))}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
