"""What an attacker on the web would try first, and what becomes of it."""

import concurrent.futures
import re
import socket

import requests

from harness import PASSWORD, eventually


def sign_in(duly, name, password, **more):
    return requests.post(f"{duly.url}/api/v1/sessions", json={"name": name, "password": password}, timeout=30, **more)


def browser_of(duly):
    browser = requests.Session()
    assert browser.post(f"{duly.url}/api/v1/sessions", json={"name": "ada", "password": PASSWORD}).status_code == 201
    return browser


def test_guessing_at_once_is_no_way_around_the_brake(shared):
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: sign_in(shared, "victim", f"guess number {n}").status_code, range(20)))
    assert answers.count(401) <= 8 and answers.count(429) >= 12, answers
    # From many addresses: a proxy nobody trusts is not believed, so that does not help either.
    forged = [sign_in(shared, "victim", "guess", headers={"x-forwarded-for": f"10.0.0.{n}"}).status_code for n in range(10)]
    assert forged.count(429) >= 7, f"waits are short at first, but they are there: {forged}"


def test_a_session_somebody_prepared_is_not_taken_over(shared):
    planted = "session_" + "A" * 43
    victim = requests.Session()
    victim.cookies.set("duly_session", planted)
    opened = victim.post(f"{shared.url}/api/v1/sessions", json={"name": "ada", "password": PASSWORD})
    assert opened.status_code == 201 and opened.json()["token"] != planted
    ask = lambda value: requests.get(f"{shared.url}/api/v1/whoami", headers={"cookie": f"duly_session={value}"}).status_code
    assert ask(planted) == 401 and ask(opened.json()["token"]) == 200
    again = requests.post(f"{shared.url}/api/v1/sessions", json={"name": "ada", "password": PASSWORD},
                          headers={"cookie": f"duly_session={opened.json()['token']}"})
    assert ask(again.json()["token"]) == 200 and ask(opened.json()["token"]) == 401, "the one before has ended"


def test_a_page_of_another_site_does_nothing_with_a_session(shared):
    browser = browser_of(shared)
    url = f"{shared.url}/api/v1/groups"
    forged = [
        {"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
        {"origin": shared.url, "sec-fetch-site": "cross-site"},
    ]
    for headers in forged:
        assert browser.post(url, json={"name": "made"}, headers=headers).status_code == 403, headers
        assert browser.delete(f"{url}/made", headers=headers).status_code == 403
    # What a form can send is not taken, whoever sends it.
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert browser.post(url, data='{"name":"made"}', headers={"content-type": kind}).status_code == 415
    asked = browser.options(url, headers={"origin": "https://evil.example", "access-control-request-method": "POST"})
    assert not [name for name in asked.headers if name.lower().startswith("access-control")]
    assert browser.post(url, json={"name": "made"}, headers={"origin": shared.url, "sec-fetch-site": "same-origin"}).status_code == 201
    cookie = sign_in(shared, "ada", PASSWORD).headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie


def test_behind_tls_a_cookie_cannot_be_planted_by_a_neighbour(fresh):
    fresh.setup().up("--trusted-proxy", "127.0.0.1")
    by_tls = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"}
    opened = sign_in(fresh, "ada", PASSWORD, headers=by_tls)
    cookie = opened.headers["set-cookie"]
    assert cookie.startswith("__Host-duly_session=") and "; Secure" in cookie and "Domain" not in cookie
    assert opened.headers["strict-transport-security"]
    ask = lambda name: requests.get(f"{fresh.url}/api/v1/whoami", headers={**by_tls, "cookie": f"{name}={opened.json()['token']}"})
    assert ask("__Host-duly_session").status_code == 200
    assert ask("duly_session").status_code == 401, "anybody under the same domain could have set this one"
    assert fresh.json("session", "list")["items"][0]["address"] == "203.0.113.9"
    tried = sign_in(fresh, "ada", "wrong", headers=by_tls)
    recorded = lambda outcome: fresh.json("audit", "list", "--operation", "session_open", "--outcome", outcome)["items"]
    eventually(lambda: recorded(tried.json()["code"]), "the refusal is recorded")
    assert {item["entry"]["from"] for outcome in ("done", tried.json()["code"]) for item in recorded(outcome)} == {"203.0.113.9"}
    assert "strict-transport-security" not in requests.get(f"{fresh.url}/ui").headers


def test_nothing_is_smuggled_into_headers(shared):
    host = ("127.0.0.1", shared.port)
    for path in ("/ui%0d%0aset-cookie:%20a=b", "/auth/oidc/start?back=/ui%0d%0aset-cookie:%20a=b"):
        with socket.create_connection(host) as s:
            s.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: s.recv(65536), b""))
        assert b"\r\nset-cookie: a=b" not in answer.lower(), answer
    told = requests.get(f"{shared.url}/api/v1/jobs", headers={"x-request-id": "x" * 65})
    assert told.headers["x-request-id"] != "x" * 65
    forged = requests.get(f"{shared.url}/ui", headers={"host": "evil.example", "x-forwarded-host": "evil.example"})
    assert "evil" not in forged.text and "evil" not in str(forged.headers)


def test_a_token_is_neither_taken_from_an_address_nor_written_to_a_log(shared):
    made = shared.json("token", "create", "careful")["token"]
    for name in ("token", "access_token", "api_key", "authorization"):
        assert requests.get(f"{shared.url}/api/v1/jobs", params={name: made}).status_code in (400, 401)
    assert requests.get(f"{shared.url}/api/v1/jobs/{made}").status_code == 401
    session = sign_in(shared, "ada", PASSWORD).json()["token"]
    sign_in(shared, "ada", "a wrong password to look for")
    requests.get(f"{shared.url}/api/v1/nowhere", headers={"authorization": f"Bearer {made}"})
    logs = "".join(path.read_text(errors="replace") for path in shared.root.glob("*.log"))
    for secret in (made, session, PASSWORD, "a wrong password to look for"):
        assert secret not in logs
    answer = requests.get(f"{shared.url}/api/v1/tokens", headers={"authorization": f"Bearer {made}"})
    assert answer.headers["cache-control"] == "no-store" and made not in answer.text


def test_a_stranger_does_not_learn_which_names_exist(shared):
    known, unknown = sign_in(shared, "ada", "wrong"), sign_in(shared, "nobody-at-all", "wrong")
    strip = lambda answer: (answer.status_code, re.sub(r'"(instance|request_id)":"[^"]*"', "", answer.text),
                            sorted(name for name in answer.headers if name.lower() not in ("date", "x-request-id")))
    assert strip(known) == strip(unknown)


def test_every_page_and_answer_is_armoured(shared):
    for path in ("/", "/ui", "/api/v1/health", "/api/v1/jobs", "/nowhere", "/auth/oidc/start"):
        headers = requests.get(shared.url + path, allow_redirects=False).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy, path
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY" and "permissions-policy" in headers and headers["cache-control"] == "no-store"
