"""Executors that are called over TLS, and what is done about those whose word for who they are nobody vouches for."""

import ssl
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness import eventually

HOME = Path(tempfile.mkdtemp(prefix="duly-tls-"))
CERT, KEY = HOME / "cert.pem", HOME / "key.pem"
# The one certificate the server trusts.
XXL_ENV = {"SSL_CERT_FILE": str(CERT)}


def certificate(cert: Path, key: Path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=executor",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE",
                    "-keyout", key, "-out", cert], check=True, capture_output=True)


certificate(CERT, KEY)


def speak_tls(stub, cert: Path, key: Path):
    """The same stub, but whoever comes must speak TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    stub.wrap = lambda link: context.wrap_socket(link, server_side=True)
    return stub


def test_an_executor_is_called_over_tls(xxl, executor):
    stub = speak_tls(executor(scheme="https://", result=(200, "in private")), CERT, KEY).register()
    xxl.apply(stub.job(stub.app))
    assert xxl.ended(xxl.trigger(stub.app))["message"] == "in private"


def test_a_stranger_with_a_certificate_of_its_own_gets_nothing(xxl, executor, tmp_path):
    """Nothing of the run reaches it: neither parameters nor token."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate(cert, key)
    stub = speak_tls(executor(scheme="https://"), cert, key).register()
    xxl.apply(stub.job(stub.app))
    instance = xxl.trigger(stub.app)

    def told():
        attempts = xxl.json("instance", "attempts", instance)["items"]
        return next((one["message"] for one in attempts if one.get("message")), None)
    assert "no TLS" in eventually(told, "an attempt says why it did not get there")
    assert not stub.calls
    xxl.run("instance", "stop", instance, check=True)
