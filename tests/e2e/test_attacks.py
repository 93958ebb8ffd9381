"""What somebody who means harm would try at the doors of a server: each is refused in words, costs little, and leaves no trace in
what others see. What is about signing in, sessions and browsers is in test_attacks_web.py."""

import concurrent.futures
import json
import os
import socket
import time

import pytest
import requests

from harness import eventually


@pytest.fixture(scope="module")
def duly(shared):
    return shared


def raw(duly) -> socket.socket:
    return socket.create_connection(("127.0.0.1", duly.port), timeout=60)


def head(duly, path: str, *more: str) -> bytes:
    token = duly.token_file.read_text()
    lines = [f"GET {path} HTTP/1.1", "Host: duly", f"Authorization: Bearer {token}", *more, "Connection: close", "", ""]
    return "\r\n".join(lines).encode()


def answer(link: socket.socket) -> bytes:
    told = b""
    while piece := link.recv(65536):
        told += piece
    return told


# ---- paths


@pytest.mark.parametrize("path", [
    "/api/v1/instances/..%2f..%2f..%2fetc%2fpasswd/log", "/api/v1/instances/%2e%2e/log", "/api/v1/instances/../../../etc/passwd",
    "/api/v1/jobs/..%2f..%2fduly.db/export", "/api/v1/jobs/%00/export", "/api/v1/jobs/a%0d%0aX-Evil:%20yes", "/../../etc/passwd",
    "/ui/../../../../etc/passwd", "/ui/%2e%2e/%2e%2e/etc/passwd", "/ui/..%5c..%5cetc/passwd", "//etc/passwd", "/api/v1//etc/passwd",
])
def test_no_path_leads_out_of_the_api(duly, path):
    """Sent as it is: a client that tidies paths would hide the attack."""
    with raw(duly) as link:
        link.sendall(head(duly, path))
        told = answer(link)
    status, _, rest = told.partition(b"\r\n")
    assert int(status.split()[1]) in (301, 307, 308, 400, 401, 403, 404, 405, 503), told[:300]
    assert b"root:" not in told and b"SQLite format" not in told
    assert b"\r\nX-Evil" not in rest and b"\nx-evil" not in rest.lower()


def test_a_log_is_found_by_number_and_nothing_else(duly):
    for attempt in ("../1", "1/../../2", "0x10", "1;2", "١"):
        told = duly.api("GET", "/instances/1/log", params={"attempt": attempt})
        assert told.status_code in (400, 404, 422), (attempt, told.text)
        assert told.headers["content-type"].startswith("application/problem+json")


# ---- headers


def test_nobody_writes_into_the_answers_headers(duly):
    """What we repeat of a request (its id, names in messages) cannot end a header."""
    for value in ("a\x01b", "a\x7fb", "x" * 20_000, "ü" * 200, "a b\tc"):
        told = requests.get(f"{duly.url}/api/v1/health", headers={"x-request-id": value.encode("utf-8")}, timeout=30)
        assert told.status_code in (200, 400, 431), told.text
        kept = told.headers.get("x-request-id", "")
        assert len(kept) <= 200 and all(" " <= c <= "~" for c in kept), kept
    with raw(duly) as link:
        link.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: duly\r\nX-Request-Id: a\r\n b\r\nConnection: close\r\n\r\n")
        assert b" 400 " in answer(link).split(b"\r\n")[0], "a folded header is refused"


@pytest.mark.parametrize("lines", [
    ["Content-Length: 5", "Content-Length: 6"], ["Content-Length: 5", "Transfer-Encoding: chunked"], ["Content-Length: -1"],
    ["Transfer-Encoding: xchunked"],
])
def test_a_request_whose_length_has_two_readings_is_not_read_twice(duly, lines):
    """Smuggling: what follows the body must not be taken for a request of its own with our answer to somebody else."""
    with raw(duly) as link:
        token = duly.token_file.read_text()
        text = ["POST /api/v1/preview HTTP/1.1", "Host: duly", f"Authorization: Bearer {token}", "Content-Type: application/json", *lines, "", ""]
        link.sendall("\r\n".join(text).encode() + b"0\r\n\r\nGET /api/v1/jobs HTTP/1.1\r\nHost: duly\r\n\r\n")
        link.shutdown(socket.SHUT_WR)
        told = answer(link)
    assert told.count(b"HTTP/1.1 200") == 0, told[:500]


def test_too_many_and_too_long_headers_are_refused(duly):
    for lines in ([f"X-{n}: y" for n in range(3000)], ["X-Long: " + "y" * 2_000_000]):
        with raw(duly) as link:
            try:
                link.sendall(head(duly, "/api/v1/health", *lines))
                told = answer(link)
            except (BrokenPipeError, ConnectionResetError):
                continue  # it hung up in the middle, which is an answer too
        assert b" 431 " in told.split(b"\r\n")[0] or b" 400 " in told.split(b"\r\n")[0], told[:200]
    assert duly.api("GET", "/health").status_code == 200


def test_a_token_in_an_address_opens_nothing(duly):
    token = duly.token_file.read_text()
    for name in ("token", "access_token", "api_key", "authorization", "key"):
        told = requests.get(f"{duly.url}/api/v1/jobs", params={name: token}, timeout=30)
        assert told.status_code == 401, name
    assert token not in duly.log_tail(100_000), "and is not written down"


# ---- bodies


def test_bodies_that_are_too_large_are_refused_before_they_are_kept(duly):
    limits = {"/preview": 4 << 20, "/jobs/apply": 16 << 20}
    for path, limit in limits.items():
        told = duly.api("POST", path, data=b'{"a":"' + b"x" * (limit + 1000) + b'"}', headers={"content-type": "application/json"})
        assert told.status_code == 413 and told.json()["code"] == "E0106", (path, told.status_code, told.text[:200])


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000, '{"jobs":' + "[" * 100_000 + "]" * 100_000 + "}"],
                         ids=["lists", "maps", "jobs"])
def test_deep_nesting_is_refused_and_hurts_nobody(duly, text):
    for path in ("/preview", "/jobs/apply", "/sessions"):
        told = duly.api("POST", path, data=text.encode(), headers={"content-type": "application/json"})
        assert told.status_code in (400, 422), (path, told.status_code, told.text[:200])
    assert duly.api("GET", "/health").status_code == 200


def test_job_files_that_grow_when_read_are_refused(duly):
    """Aliases that name each other: a few lines that would be gigabytes."""
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(10))
    deep = "job: x\nparams:\n" + "".join(" " * (2 * n + 2) + f"k{n}:\n" for n in range(3000))
    for text in (bomb, deep, "job: x\nsh: " + "[" * 50_000):
        began = time.monotonic()
        told = duly.api("POST", "/jobs/apply", json={"files": [{"name": "jobs.yaml", "text": text}]})
        assert told.status_code in (400, 422), told.text[:300]
        assert time.monotonic() - began < 20, "it took no work to speak of"
    assert duly.api("GET", "/health").status_code == 200


# ---- slowness


def test_slow_clients_hold_nobody_up_and_are_let_go(duly):
    """Connections that never say what they want, and bodies that never end: others are served, and these are closed."""
    links = [raw(duly) for _ in range(300)]
    for number, link in enumerate(links):
        if number % 2:
            link.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: du")
        else:
            link.sendall(b"POST /api/v1/sessions HTTP/1.1\r\nHost: duly\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: duly.api("GET", "/jobs").status_code, range(80)))
    assert told == [200] * 80

    def let_go(link: socket.socket) -> bool:
        link.settimeout(0.01)
        try:
            while link.recv(65536):
                pass
            return True
        except TimeoutError:
            return False
        except ConnectionResetError:
            return True
    eventually(lambda: all(let_go(link) for link in links), "all were let go", within=60, every=1)
    for link in links:
        link.close()


def test_whoever_never_reads_is_let_go(duly):
    """They ask for much, all of it public, and take nothing: what was made for them is not kept for ever."""
    files = lambda: len(os.listdir(f"/proc/{duly.server_pid()}/fd"))
    before, links = files(), []
    ask = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: duly\r\n\r\n" * 50
    for _ in range(100):
        link = socket.socket()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.connect(("127.0.0.1", duly.port))
        link.sendall(ask)
        links.append(link)
    eventually(lambda: files() > before + 90, "they are connected")
    assert duly.api("GET", "/jobs").status_code == 200, "others are served"
    # Not seen from here, where nothing is read: the server holds no file for them any more.
    eventually(lambda: files() < before + 20, "they were let go", within=120, every=1)
    for link in links:
        link.close()


def test_a_secret_that_is_nearly_right_is_as_wrong_as_any(duly):
    """Every token is looked up by its hash, so how much of it is right is never compared."""
    token = duly.token_file.read_text()
    answers = set()
    for guess in (token[:-1], token[:-1] + ("a" if token[-1] != "a" else "b"), token + "x", "x" * len(token), token.upper(), f" {token[1:]}"):
        told = requests.get(f"{duly.url}/api/v1/jobs", headers={"authorization": f"Bearer {guess}"}, timeout=30)
        problem = {key: value for key, value in told.json().items() if key not in ("request_id", "instance")}
        answers.add((told.status_code, json.dumps(problem, sort_keys=True)))
    assert len(answers) == 1 and next(iter(answers))[0] == 401, answers
