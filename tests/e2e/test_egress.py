"""Where nothing leads on somebody's word: HTTP tasks, redirects and executors are kept from keys, from Duly itself, and
from what their tenant may not call."""

import http.server
import json
import threading

import pytest
import requests

from harness import Duly, eventually, one_server
from name_server import NameServer
from network import ip

TOKEN = "egress-test-token"
KEYS = "169.254.169.254"
# In the eyes of Duly out in the world: an address for documentation, which this test gives to its own machine.
PUBLIC = "203.0.113.77"


class Site(http.server.ThreadingHTTPServer):
    """Answers every path; those below /to/ by a redirect. Remembers what it was asked for."""

    def __init__(self, host: str):
        self.heard: list[str] = []
        super().__init__((host, 0), Answers)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://{host}:{self.server_port}"


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.heard.append(self.path)
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
        else:
            self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_):
        pass


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
    one = Site("127.0.0.1")
    yield one
    one.shutdown()


@pytest.fixture(scope="module")
def north(duly):
    """A tenant that may not call private networks, with the local agent for its tasks."""
    duly.run("tenant", "create", "north", check=True)
    duly.run("agents", "share", duly.json("agents", "list")["items"][0]["id"], "--everyone", check=True)
    return "north"


def called(duly: Duly, urls: dict[str, str], tenant: str = "default") -> dict[str, tuple[str, str, str]]:
    """Jobs that call these, all at once; how they ended."""
    path = duly.root / f"calls-{tenant}-{next(iter(urls))}.yaml"
    path.write_text("---\n".join(f'job: {job}\nhttp: {{ url: "{url}", redirects: 3 }}\n' for job, url in urls.items()))
    within = lambda *args: duly.run("--tenant", tenant, *args, check=True).stdout
    within("job", "apply", "-f", path, "--yes")
    ran = {job: json.loads(within("job", "trigger", job, "--json"))["id"] for job in urls}

    def ended(number: int):
        seen = json.loads(within("instance", "show", number, "--json"))
        return seen if seen["state"] in ("succeeded", "failed", "dead") else None
    ends = {job: eventually(lambda: ended(number), f"{job} has ended") for job, number in ran.items()}
    return {job: (end["state"], end.get("reason") or "", end.get("message") or "") for job, end in ends.items()}


def are_refused(ends: dict[str, tuple[str, str, str]], code: str, why: str):
    for job, (state, reason, message) in ends.items():
        assert (state, reason) == ("failed", "refused"), (job, message)
        assert message.startswith(code) and why in message, (job, message)


def test_a_newcomers_call_to_their_own_machine_works(duly, site):
    assert called(duly, {"own-machine": f"{site.url}/x"})["own-machine"][0] == "succeeded"


def test_a_task_does_not_get_at_the_machines_keys(duly):
    are_refused(called(duly, {
        "metadata": f"http://{KEYS}/latest/meta-data/",
        "decimal": "http://2852039166/",
        "hexadecimal": "http://0xa9fea9fe/",
        "octal": "http://0251.0376.0251.0376/",
        "short": "http://169.254.43518/",
        "dotted": f"http://{KEYS}./",
        "mapped": f"http://[::ffff:{KEYS}]/",
        "mapped-in-hexadecimal": "http://[::ffff:a9fe:a9fe]/",
        "translated": f"http://[64:ff9b::{KEYS}]/",
        "of-version-6": "http://[fd00:ec2::254]/",
        "elsewhere": "http://100.100.100.200/",
    }), "E0981", "cloud machines get their own keys there")
    are_refused(called(duly, {
        "link-local": "http://169.254.1.1/",
        "link-local-6": "http://[fe80::1]/",
    }), "E0981", "it is link-local")
    are_refused(called(duly, {"nowhere": "http://0.0.0.0:8080/", "nowhere-6": "http://[::]:8080/"}), "E0981", "is not called")


def test_a_redirect_is_judged_like_the_first_address(duly, site):
    are_refused(called(duly, {
        "redirected": f"{site.url}/to/http://{KEYS}/keys",
        "redirected-oddly": f"{site.url}/to/http://0xa9fea9fe/keys",
        "redirected-twice": f"{site.url}/to/{site.url}/to/http://[::ffff:{KEYS}]/keys",
    }), "E0981", "is not called")
    assert called(duly, {"redirected-well": f"{site.url}/to/{site.url}/well"})["redirected-well"][0] == "succeeded"
    assert "/well" in site.heard


def test_a_task_does_not_speak_to_duly_from_inside(duly, site):
    agents = (duly.data / "agent-endpoint").read_text().strip()
    are_refused(called(duly, {
        "api": duly.url,
        "api-by-name": f"http://localhost:{duly.port}",
        "api-by-another-address": f"http://127.9.9.9:{duly.port}",
        "api-in-version-6": f"http://[::ffff:127.0.0.1]:{duly.port}",
        "api-by-redirect": f"{site.url}/to/{duly.url}/",
        "agents": agents,
    }), "E0983", "Duly itself listens there")


def test_a_tenant_without_the_right_does_not_call_inside(duly, site, north):
    inside = {
        "loopback": site.url,
        "by-name": f"http://localhost:{site.server_port}/",
        "oddly": f"http://2130706433:{site.server_port}/",
        "mapped": f"http://[::ffff:127.0.0.1]:{site.server_port}/",
        "private-10": "http://10.1.2.3/",
        "private-172": "http://172.16.1.2/",
        "private-192": "http://192.168.1.2/",
        "private-6": "http://[fd12::1]/",
    }
    before = len(site.heard)
    are_refused(called(duly, inside, north), "E0982", "it is in a private network")
    are_refused(called(duly, {"keys": f"http://{KEYS}/"}, north), "E0981", "cloud machines")
    assert len(site.heard) == before
    duly.run("tenant", "set", north, "--private-network", "true", check=True)
    try:
        allowed = lambda: called(duly, {"loopback": site.url}, north)["loopback"][0] == "succeeded"
        eventually(allowed, "it may call there, as soon as that is known everywhere")
    finally:
        duly.run("tenant", "set", north, "--private-network", "false", check=True)


def test_the_world_does_not_redirect_a_tenant_inside(duly, site, north, network):
    ip("addr", "add", f"{PUBLIC}/32", "dev", network.tag)
    world = Site(PUBLIC)
    try:
        assert called(duly, {"out": f"{world.url}/x"}, north)["out"][0] == "succeeded"
        before = len(site.heard)
        are_refused(called(duly, {
            "in-again": f"{world.url}/to/{site.url}/inside",
            "in-again-by-name": f"{world.url}/to/http://localhost:{site.server_port}/inside",
        }, north), "E0982", "it is in a private network")
        assert len(site.heard) == before
    finally:
        world.shutdown()


# ---- executors


def registered(duly: Duly, address: str, token: str = TOKEN, app: str = "egress-app") -> dict:
    body = {"registryGroup": "EXECUTOR", "registryKey": app, "registryValue": address}
    answer = requests.post(f"{duly.url}/api/registry", json=body, headers={"XXL-JOB-ACCESS-TOKEN": token}, timeout=30)
    return answer.json()


def test_an_executor_is_not_let_in_where_nobody_is_called(duly):
    for address, code in [
        (f"http://{KEYS}/", "E0981"),
        ("http://0xa9fea9fe/", "E0981"),
        ("http://2852039166/", "E0981"),
        (f"http://[::ffff:{KEYS}]/", "E0981"),
        ("http://[fe80::1]:9999/", "E0981"),
        (duly.url, "E0983"),
        (f"http://localhost:{duly.port}/", "E0983"),
    ]:
        told = registered(duly, address)
        assert told["code"] == 500 and code in told["msg"], (address, told)
    assert not [a for a in duly.json("agents", "list")["items"] if a["kind"] == "executor"]
    assert registered(duly, "http://127.0.0.1:9/")["code"] == 200

    refused = duly.run("pool", "set", "egress-app", "--address", "http://100.100.100.200:80/")
    assert refused.returncode != 0 and "E0981" in refused.stderr


def test_an_executor_of_a_tenant_without_the_right_is_not_inside(duly, north):
    token = json.loads(duly.run("--tenant", north, "xxl-token", "create", "--json", check=True).stdout)["token"]
    for address in ("http://127.0.0.1:9/", "http://localhost:9/", "http://10.1.2.3:9999/"):
        told = registered(duly, address, token)
        assert told["code"] == 500 and "E0982" in told["msg"], (address, told)
    refused = duly.run("--tenant", north, "pool", "set", "app", "--address", "http://192.168.1.2:9999/")
    assert refused.returncode != 0 and "E0982" in refused.stderr


def test_an_executor_does_not_send_a_call_on(duly, site):
    assert registered(duly, f"{site.url}/to/{site.url}/sent-on/", app="sends-on")["code"] == 200
    duly.ended(duly.apply_and_trigger("sends-on", "pool: sends-on\nexecutor: { handler: demo }"))
    assert any(path.startswith("/to/") and path.endswith("/run") for path in site.heard), "it was called"
    assert not [path for path in site.heard if path.startswith("/sent-on")]


# ---- names


@pytest.fixture
def names(tmp_path):
    one = NameServer(tmp_path).start()
    try:
        yield one
    finally:
        one.stop()


@one_server
def test_a_name_is_what_it_means_when_it_is_judged(tmp_path, names, site):
    one = Duly(tmp_path).setup()
    names.means = {
        "keys.test": [[KEYS]],
        "near.test": [["169.254.1.1"]],
        "duly.test": [["127.0.0.1"]],
        "turning.test": [["127.0.0.1"], [KEYS]],
        "both.test": [[KEYS, "127.0.0.1"]],
        "app.test": [["127.0.0.1"]],
    }
    try:
        one.up("--xxl-token", TOKEN, wrap=names.wrap)
        eventually(one.agent_online, "the local agent is online")
        are_refused(called(one, {
            "keys": "http://keys.test/",
            "near": "http://near.test/",
            "redirected": f"{site.url}/to/http://keys.test/",
        }), "E0981", "is not called")
        are_refused(called(one, {"api": f"http://duly.test:{one.port}/"}), "E0983", "Duly itself listens there")

        # It is looked up once, and what was judged is what is called.
        calls = {"turning": f"http://turning.test:{site.server_port}/turning", "both": f"http://both.test:{site.server_port}/both"}
        ends = called(one, calls)
        assert [end[0] for end in ends.values()] == ["succeeded", "succeeded"], ends
        assert {"/turning", "/both"} <= set(site.heard) and names.asked.count("turning.test") == 1
        are_refused(called(one, {"turned": f"http://turning.test:{site.server_port}/turned"}), "E0981", "cloud machines")

        assert "E0981" in registered(one, "http://keys.test:9999/")["msg"]
        assert registered(one, f"http://app.test:{site.server_port}/app")["code"] == 200
        names.means["app.test"] = [[KEYS]]
        # What it was sent did not leave; it waits until the name leads somewhere good again.
        number = one.apply_and_trigger("moved", "pool: egress-app\nexecutor: { handler: demo }")
        tries = lambda: [a for a in one.api("GET", f"/instances/{number}/attempts").json()["items"] if a["ended_at"]]
        first = eventually(tries, "it was tried")[-1]
        assert first["verdict"] == "undelivered" and "E0981" in first["message"], first
        assert "/app/run" not in site.heard
    finally:
        one.stop()


def test_private_networks_can_be_switched_off(tmp_path, site):
    one = Duly(tmp_path).setup()
    try:
        one.up("--private-networks", "none", "--xxl-token", TOKEN)
        eventually(one.agent_online, "the local agent is online")
        are_refused(called(one, {"inside": f"{site.url}/x"}), "E0982", "it is in a private network")
        assert "E0982" in registered(one, "http://127.0.0.1:9999/")["msg"]
    finally:
        one.stop()
