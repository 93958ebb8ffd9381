"""Where nothing leads on somebody's word: HTTP tasks, redirects and executors are kept from keys, from Duly itself, and
from what their tenant may not call."""

import http.server
import threading

import pytest
import requests

from harness import Duly, eventually, one_server

TOKEN = "egress-test-token"


@pytest.fixture(scope="module")
def duly(tmp_path_factory):
    one = Duly(tmp_path_factory.mktemp("egress")).setup()
    one.up("--xxl-token", TOKEN)
    try:
        eventually(one.agent_online, "the local agent is online")
        yield one
    finally:
        one.stop()


@pytest.fixture(scope="module")
def site():
    """Answers every path; those below /to/ by a redirect."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path.startswith("/to/"):
                self.send_response(302)
                self.send_header("Location", self.path.removeprefix("/to/"))
            else:
                self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def called(duly: Duly, job: str, url: str) -> tuple[str, str, str]:
    duly.apply(f"job: {job}\nhttp: {{ url: \"{url}\", redirects: 3 }}\n")
    seen = duly.ended(duly.trigger(job))
    return seen["state"], seen.get("reason") or "", seen.get("message") or ""


def test_a_newcomers_call_to_their_own_machine_works(duly, site):
    assert called(duly, "own-machine", f"{site}/x")[0] == "succeeded"


@pytest.mark.parametrize("job, url, code", [
    ("metadata", "http://169.254.169.254/latest/meta-data/", "E0981"),
    ("decimal", "http://2852039166/", "E0981"),
    ("mapped", "http://[::ffff:a9fe:a9fe]/", "E0981"),
    ("nowhere", "http://0.0.0.0:8080/", "E0981"),
])
def test_a_task_does_not_get_at_the_machines_keys(duly, job, url, code):
    state, reason, message = called(duly, job, url)
    assert (state, reason) == ("failed", "refused")
    assert message.startswith(code) and "is not called" in message


def test_a_redirect_is_judged_like_the_first_address(duly, site):
    state, reason, message = called(duly, "redirected", f"{site}/to/http://169.254.169.254/keys")
    assert (state, reason) == ("failed", "refused") and message.startswith("E0981: 169.254.169.254:80")
    assert called(duly, "redirected-well", f"{site}/to/{site}/x")[0] == "succeeded"


@one_server
def test_a_task_does_not_speak_to_duly_from_inside(duly, site):
    for job, url in [("api", duly.url), ("api-by-name", f"http://localhost:{duly.port}"), ("api-by-redirect", f"{site}/to/{duly.url}/")]:
        state, reason, message = called(duly, job, url)
        assert (state, reason) == ("failed", "refused"), url
        assert message.startswith("E0983") and "Duly itself listens there" in message


def registered(duly: Duly, address: str) -> dict:
    body = {"registryGroup": "EXECUTOR", "registryKey": "egress-app", "registryValue": address}
    answer = requests.post(f"{duly.url}/api/registry", json=body, headers={"XXL-JOB-ACCESS-TOKEN": TOKEN}, timeout=30)
    return answer.json()


def test_an_executor_is_not_let_in_where_nobody_is_called(duly):
    for address, code in [("http://169.254.169.254/", "E0981"), ("http://0xa9fea9fe/", "E0981"), (duly.url, "E0983")]:
        told = registered(duly, address)
        assert told["code"] == 500 and code in told["msg"], address
    assert not [a for a in duly.json("agents", "list")["items"] if a["kind"] == "executor"]
    assert registered(duly, "http://127.0.0.1:9/")["code"] == 200

    refused = duly.run("pool", "set", "egress-app", "--address", "http://100.100.100.200:80/")
    assert refused.returncode != 0 and "E0981" in refused.stderr


def test_private_networks_can_be_switched_off(tmp_path, site):
    one = Duly(tmp_path).setup()
    try:
        one.up("--private-networks", "none", "--xxl-token", TOKEN)
        eventually(one.agent_online, "the local agent is online")
        state, reason, message = called(one, "inside", f"{site}/x")
        assert (state, reason) == ("failed", "refused") and message.startswith("E0982")
        assert "E0982" in registered(one, "http://127.0.0.1:9999/")["msg"]
    finally:
        one.stop()
