"""The API keeps its own description, and stays on its feet whatever it is sent."""

import http.client
import json
import pathlib
import subprocess
import sys

import pytest

from harness import PASSWORD, SOAK, eventually

DESCRIPTION = pathlib.Path(__file__).parents[2] / "openapi" / "openapi.json"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance"
# Streams that end only when one hangs up, and the one call that could revoke the token of the test itself.
LEFT_OUT = ["events", "token_revoke"]

# A followed log is a stream of events, which OpenAPI 3.1 cannot describe; its status and kind are checked all the same.
SETTINGS = """
[[operations]]
include-operation-id = "log"
checks.response_schema_conformance.enabled = false
"""


def is_problem(answer) -> bool:
    body = answer.json()
    kind = answer.headers["content-type"]
    return kind.startswith("application/problem+json") and body["status"] == answer.status_code and body["code"].startswith("E") \
        and bool(body["title"]) and bool(body["detail"])


# ---- the description


def test_the_description_is_what_the_server_serves(shared):
    assert shared.api("GET", "/openapi.json", token=None).json() == json.loads(DESCRIPTION.read_text())


def test_every_answer_is_a_described_one(shared, tmp_path):
    """Generated requests, right and wrong, over every operation."""
    shared.apply('job: tick\ncron: "0/10 * * * * ?"\noverlap: allow\nnoop: true\n')
    assert shared.ended(shared.trigger("tick"))["state"] == "succeeded"
    command = [pathlib.Path(sys.executable).parent / "schemathesis", "run", DESCRIPTION, "--url", shared.url,
               "--header", f"Authorization: Bearer {shared.token_file.read_text()}", "--checks", CHECKS, "--seed", "20260",
               "--max-examples", "400" if SOAK else "25", "--phases", "examples,coverage,fuzzing", "--request-timeout", "30",
               "--suppress-health-check", "all", "--warnings", "off", "--no-color", "--continue-on-failure", "--no-shrink"]
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    for operation in LEFT_OUT:
        command += ["--exclude-operation-id", operation]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=tmp_path, timeout=1800)
    assert done.returncode == 0, done.stdout[-12_000:] + done.stderr[-2_000:]
    assert shared.run("health").returncode == 0
    assert shared.api("GET", "/jobs").status_code == 200, "the token of the test still works: the run was not in vain"


# ---- hostile input


DEEP = b'{"jobs":' + b"[" * 200_000 + b"]" * 200_000 + b"}"


@pytest.mark.parametrize("what, body", [
    ("deep", DEEP),
    ("deep maps", b'{"jobs":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}"),
    ("cut off", b'{"jobs": [{"job": "a"'),
    ("bad utf-8", b'{"jobs": [{"job": "\xff\xfe", "noop": true}]}'),
    ("empty", b""),
    ("zero bytes", b"\x00" * 100),
    ("a number", b"5"),
    ("wrong types", b'{"jobs": [{"job": 5, "noop": "maybe", "cron": [], "retry": {"times": "many"}}]}'),
    ("a huge number", b'{"jobs": [{"job": "a", "noop": true, "priority": 1e999}]}'),
    ("a key twice", b'{"jobs": [], "jobs": []}'),
    ("unknown keys", b'{"jobs": [{"job": "a", "noop": true, "frobnicate": 1}]}'),
    ("a name with a zero byte", b'{"jobs": [{"job": "a\\u0000b", "noop": true}]}'),
    ("a very long name", b'{"jobs": [{"job": "' + b"a" * 100_000 + b'", "noop": true}]}'),
    ("an expression without end", b'{"jobs": [{"job": "a", "noop": true, "cron": "' + b"0,1," * 100_000 + b'"}]}'),
])
def test_odd_bodies_are_refused(shared, what, body):
    answer = shared.api("POST", "/jobs/apply", data=body, headers={"Content-Type": "application/json"})
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text[:500])
    assert is_problem(answer) and len(answer.content) < 100_000
    assert shared.api("GET", "/version", token=None).status_code == 200


def test_a_huge_body_is_refused_early(shared):
    def endless():
        for _ in range(512):
            yield b" " * (1 << 20)
    try:
        answer = shared.api("POST", "/jobs/apply", data=endless(), headers={"Content-Type": "application/json"})
        assert answer.status_code == 413 and is_problem(answer)
    except Exception as error:  # it may hang up before all is sent: that is the other good answer
        assert "reset" in str(error).lower() or "broken pipe" in str(error).lower() or "aborted" in str(error).lower(), error
    assert shared.api("GET", "/version", token=None).status_code == 200


def raw(shared, method, path, headers=None):
    """As written: no client in between that tidies a path up."""
    link = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=30)
    try:
        link.putrequest(method, path, skip_accept_encoding=True)
        for name, value in {"Authorization": f"Bearer {shared.token_file.read_text()}", **(headers or {})}.items():
            link.putheader(name, value)
        link.endheaders()
        answer = link.getresponse()
        return answer.status, answer.read()
    finally:
        link.close()


@pytest.mark.parametrize("path", [
    "/api/v1/jobs/..%2f..%2f..%2fetc%2fpasswd",
    "/api/v1/jobs/../../../../etc/passwd",
    "/api/v1/jobs/%00",
    "/api/v1/jobs/%ff%fe",
    "/api/v1/jobs/%",
    "/api/v1/jobs/" + "a" * 5_000,
    "/api/v1/jobs/'%20or%201=1--",
    "/api/v1/instances/..%2f1",
    "/api/v1/instances/1;drop%20table",
    "/api/v1/instances/-1",
    "/api/v1/instances/99999999999999999999999999",
    "/api/v1/instances/1.5/log",
    "/api/v1/instances/0/log?attempt=../../x",
    "/api/v1/instances?limit=100000000",
    "/api/v1/instances?cursor=%27%22%00",
    "/api/v1/instances?cursor=" + "A" * 4_000,
    "/api/v1/instances?state=nonsense",
    "/api/v1/instances?from=99999-01-01T00:00:00Z",
    "/api/v1/jobs/x/next?n=99999999999",
    "/api/v1/verify?from=0001-01-01T00:00:00Z&to=9999-01-01T00:00:00Z&job=nobody",
    "/ui/..%2f..%2fetc%2fpasswd",
    "/api/v1/nothing/here",
])
def test_odd_addresses_are_refused(shared, path):
    status, body = raw(shared, "GET", path)
    assert 400 <= status < 500, (status, body[:300])
    assert b"root:" not in body


def test_odd_headers_are_refused(shared):
    assert raw(shared, "GET", "/api/v1/jobs", {"Authorization": "Basic YWRhOmFkYQ=="})[0] == 401
    assert raw(shared, "GET", "/api/v1/jobs", {"Authorization": "Bearer " + "x" * 5_000})[0] == 401
    assert raw(shared, "GET", "/api/v1/jobs", {"Authorization": "Bearer \x80\x81"})[0] in (400, 401)
    shared.apply("job: keyed_oddly\nnoop: true\n")
    answer = shared.api("POST", "/jobs/keyed_oddly/trigger", json={}, headers={"Idempotency-Key": "k" * 5_000})
    assert 400 <= answer.status_code < 500 and is_problem(answer)


# ---- who may come in


def test_nobody_comes_in_without_a_token(shared):
    described = json.loads(DESCRIPTION.read_text())["paths"]
    public = {"/api/v1/health", "/api/v1/ready", "/api/v1/version", "/api/v1/openapi.json", "/api/v1/setup", "/api/v1/sessions"}
    for path, operations in described.items():
        for method in operations:
            if path in public and (path, method) != ("/api/v1/sessions", "delete"):
                continue
            url = path.removeprefix("/api/v1").replace("{id}", "1").replace("{name}", "x")
            for token in (None, "duly_wrong"):
                answer = shared.api(method.upper(), url, token=token, json={} if method in ("post", "put") else None)
                assert answer.status_code == 401 and is_problem(answer), (method, path, answer.status_code, answer.text[:200])


def test_a_revoked_token_is_worthless_at_once(shared):
    made = shared.json("token", "create", "short-lived")
    assert shared.api("GET", "/jobs", token=made["token"]).status_code == 200
    shared.run("token", "revoke", made["id"], "--yes", check=True)
    answer = shared.api("GET", "/jobs", token=made["token"])
    assert answer.status_code == 401 and is_problem(answer)
    assert made["id"] not in [t["id"] for t in shared.json("token", "list")["items"]]


def test_a_token_ends_when_its_time_is_up(shared):
    made = shared.json("token", "create", "one-second", "--expires-in", "1s")
    eventually(lambda: shared.api("GET", "/jobs", token=made["token"]).status_code == 401, "it has ended", within=10)


def test_a_session_ends_with_its_logout(shared):
    opened = shared.api("POST", "/sessions", token=None, json={"name": "ada", "password": PASSWORD})
    token = opened.json()["token"]
    assert shared.api("GET", "/jobs", token=token).status_code == 200
    assert shared.api("DELETE", "/sessions", token=token).status_code == 204
    assert shared.api("GET", "/jobs", token=token).status_code == 401


def test_guessing_is_made_slow(shared):
    def knock(password, name="bob"):
        return shared.api("POST", "/sessions", token=None, json={"name": name, "password": password})
    wrong = [knock(f"wrong password {n}") for n in range(7)]
    assert wrong[0].status_code == 401 and is_problem(wrong[0])
    assert wrong[-1].status_code == 429 and is_problem(wrong[-1]) and "Try again in" in wrong[-1].json()["help"]
    assert knock("wrong password x", name="ada").status_code == 401, "others are not shut out"
    assert knock(PASSWORD, name="ada").status_code == 201
    known = knock("wrong password", name="ada").json()["detail"]
    assert known == wrong[0].json()["detail"], "a stranger does not learn which names exist"


def test_secrets_are_not_told_again(shared):
    made = shared.json("token", "create", "seen-once")
    everything = shared.run("token", "list", "--json", check=True).stdout + shared.run("token", "list", check=True).stdout
    assert made["token"] not in everything and shared.token_file.read_text() not in everything
    assert made["token"] not in (shared.root / "server-1.log").read_text()
