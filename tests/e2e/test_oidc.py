"""Signing in by an identity provider: who is let in, as whom, and whose word is not taken."""

import re
import urllib.parse

import pytest
import requests

from harness import PASSWORD, Duly, eventually
from oidc_provider import Key, Provider


@pytest.fixture(scope="module")
def provider():
    one = Provider()
    yield one
    one.stop()


@pytest.fixture(scope="module")
def duly(tmp_path_factory, provider):
    root = tmp_path_factory.mktemp("oidc")
    one = Duly(root)
    (root / "secret").write_text("shared secret\n")
    (root / "duly.toml").write_text(f"""
        public_url = "{one.url}"
        [oidc]
        issuer = "{provider.issuer}"
        client_id = "duly"
        client_secret_file = "{root}/secret"
        scopes = ["profile", "groups"]
        map = [
            {{ group = "ops", role = "operator" }},
            {{ group = "root", role = "platform_admin", everywhere = true }},
        ]
    """)
    one.setup().up("--config", root / "duly.toml")
    yield one
    one.stop()


@pytest.fixture(autouse=True)
def as_it_should_be(provider):
    yield
    provider.bend, provider.signed, provider.down = {}, "properly", False
    provider.user = {"sub": "u-1", "preferred_username": "grace", "groups": ["ops"]}


def sent(duly, browser, back=None):
    """To the provider and as far as its answer: where it sends the browser back to."""
    start = browser.get(f"{duly.url}/auth/oidc/start", params={"back": back} if back else {}, allow_redirects=False)
    assert start.status_code == 303, start.text
    return browser.get(start.headers["location"], allow_redirects=False).headers["location"]


def sign_in(duly, browser=None, back=None):
    browser = browser or requests.Session()
    return browser.get(sent(duly, browser, back), allow_redirects=False), browser


def whoami(duly, browser):
    return browser.get(f"{duly.url}/api/v1/whoami")


def test_a_person_signs_in_and_has_what_their_groups_stand_for(duly, provider):
    answer, browser = sign_in(duly, back="/ui/jobs?state=failed")
    assert answer.status_code == 200 and 'url=/ui/jobs?state=failed"' in answer.text
    cookie = next(c for c in answer.headers["set-cookie"].split(", ") if c.startswith("duly_session="))
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    who = whoami(duly, browser).json()
    assert who["name"] == "grace" and who["rights"][0]["tenant"] == "default"
    assert "job.run" in who["rights"][0]["permissions"] and "job.edit" not in who["rights"][0]["permissions"]
    assert browser.get(f"{duly.url}/api/v1/jobs").status_code == 200
    assert browser.get(f"{duly.url}/api/v1/people").status_code == 403
    listed = duly.json("session", "list", "--person", "grace")["items"]
    assert listed[0]["way"] == "provider" and listed[0]["address"] == "127.0.0.1"
    # Groups are looked at again at each sign-in.
    provider.user["groups"] = ["root"]
    sign_in(duly, browser)
    assert browser.get(f"{duly.url}/api/v1/people").status_code == 200
    provider.user["groups"] = []
    sign_in(duly, browser)
    assert whoami(duly, browser).json()["rights"] == []
    assert browser.delete(f"{duly.url}/api/v1/sessions").status_code == 204
    assert whoami(duly, browser).status_code == 401


def test_an_account_stays_with_its_subject_and_no_name_takes_over_another(duly, provider):
    provider.user = {"sub": "u-2", "preferred_username": "linus"}
    sign_in(duly)
    provider.user["preferred_username"] = "torvalds"
    _, browser = sign_in(duly)
    assert whoami(duly, browser).json()["name"] == "linus", "renamed there, the same here"
    for name, sub in [("ada", "u-9"), ("linus", "u-9")]:
        provider.user = {"sub": sub, "preferred_username": name, "groups": ["root"]}
        answer, browser = sign_in(duly)
        assert answer.status_code == 403 and answer.json()["code"] == "E0917", answer.text
        assert whoami(duly, browser).status_code == 401
    duly.run("person", "disable", "linus", check=True)
    provider.user = {"sub": "u-2", "preferred_username": "linus"}
    assert sign_in(duly)[0].json()["code"] == "E0917"


@pytest.mark.parametrize("wrong", [
    {"bend": {"iss": "https://evil.example"}}, {"bend": {"aud": "another client"}}, {"bend": {"nonce": "another"}},
    {"bend": {"nonce": None}}, {"bend": {"exp": 1_000_000_000}}, {"signed": "not at all"}, {"signed": "hs256 with the public key"},
    {"signed": "hs256 with the secret"}, {"signed": "by a stranger"}, {"signed": "by an unknown key"},
    {"bend": {"sub": None}}, {"bend": {"preferred_username": None}},
], ids=str)
def test_an_id_token_that_is_not_as_it_must_be_is_refused(duly, provider, wrong):
    provider.bend, provider.signed = wrong.get("bend", {}), wrong.get("signed", "properly")
    answer, browser = sign_in(duly)
    assert answer.status_code in (403, 502) and answer.json()["code"] in ("E0915", "E0916"), answer.text
    assert "set-cookie" not in answer.headers and whoami(duly, browser).status_code == 401


def test_who_came_by_the_provider_and_who_was_refused_is_in_the_audit(duly, provider):
    entries = lambda: [item["entry"] for item in duly.json("audit", "list", "--operation", "session_open")["items"]]
    assert sign_in(duly)[0].status_code == 200
    [came, *_] = entries()
    assert (came["who"], came["by"], came["outcome"]) == (provider.user["preferred_username"], "identity provider", "done")
    assert came["from"].startswith("127.0.0.1:")
    provider.signed = "by a stranger"
    refused = sign_in(duly)[0].json()["code"]
    told = eventually(lambda: [entry for entry in entries() if entry["outcome"] == refused], "the refusal is told")
    assert "who" not in told[0] and told[0]["by"] == "identity provider"


def test_what_the_provider_changes_is_in_the_audit(duly, provider):
    def told(operation):
        entries = [item["entry"] for item in duly.json("audit", "list", "--operation", operation, "--about", "hedy")["items"]]
        assert all(entry["by"] == "identity provider" and entry["outcome"] == "done" and entry["from"] == "127.0.0.1" for entry in entries)
        return [(entry.get("before"), entry["after"]) for entry in entries]
    provider.user = {"sub": "u-9", "preferred_username": "hedy", "groups": ["ops"]}
    assert sign_in(duly)[0].status_code == 200
    [(before, made)] = told("person_create")
    assert before is None and made["subject"].endswith("u-9")
    assert told("person_mapped") == [({"roles": []}, {"roles": ["operator in default"]})]
    assert sign_in(duly)[0].status_code == 200
    assert len(told("person_create")) == len(told("person_mapped")) == 1, "nothing has changed since"
    provider.user["groups"] = ["root"]
    assert sign_in(duly)[0].status_code == 200
    assert told("person_mapped")[0] == ({"roles": ["operator in default"]}, {"roles": ["platform_admin everywhere"]})

    duly.run("person", "create", "edith", "--provider", check=True)
    provider.user = {"sub": "u-10", "preferred_username": "edith", "groups": []}
    assert sign_in(duly)[0].status_code == 200
    [bound] = duly.json("audit", "list", "--operation", "person_bind")["items"]
    assert bound["entry"]["about"] == {"name": "edith"} and bound["entry"]["after"]["subject"].endswith("u-10")


def test_code_and_state_work_once_and_only_in_the_browser_that_began(duly):
    victim, thief = requests.Session(), requests.Session()
    back = sent(duly, victim)
    stolen = thief.get(back, allow_redirects=False)
    assert stolen.status_code == 403 and "another browser" in stolen.json()["detail"]
    assert victim.get(back, allow_redirects=False).status_code == 403, "whoever tried has used it up"
    back = sent(duly, victim)
    assert victim.get(back, allow_redirects=False).status_code == 200
    again = victim.get(back, allow_redirects=False)
    assert again.status_code == 403 and "used already" in again.json()["detail"]
    # Somebody else's code in one's own sign-in: the verifier does not fit.
    other = urllib.parse.parse_qs(urllib.parse.urlparse(sent(duly, thief)).query)["code"][0]
    mixed = re.sub(r"code=[^&]*", f"code={other}", sent(duly, victim))
    assert victim.get(mixed, allow_redirects=False).json()["code"] == "E0916"
    made_up = f"{duly.url}/auth/oidc/callback?code=x&state=y"
    assert victim.get(made_up, allow_redirects=False).status_code == 403
    assert victim.get(f"{duly.url}/auth/oidc/callback?error=access_denied").status_code == 403


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", '/"><script>'])
def test_nobody_is_sent_elsewhere_after_signing_in(duly, back):
    answer, _ = sign_in(duly, back=back)
    assert answer.status_code == 200 and "evil" not in answer.text and "script" not in answer.text
    assert 'url=/ui"' in answer.text


def test_a_provider_changes_its_keys_and_their_kind(duly, provider):
    sign_in(duly)
    provider.keys = [Key("ES256")]
    # What it said is asked for again, but not for every strange key at once.
    eventually(lambda: sign_in(duly)[0].status_code == 200, "the new key is known", within=25, every=0.5)


def test_passwords_work_when_the_provider_does_not(duly, provider, tmp_path):
    other = Duly(tmp_path)
    (tmp_path / "duly.toml").write_text(f"""
        public_url = "{other.url}"
        [oidc]
        issuer = "{provider.issuer}"
        client_id = "duly"
        client_secret_file = "{tmp_path}/is-not-there"
        known_only = true
    """)
    other.setup().up("--config", tmp_path / "duly.toml")
    try:
        told = requests.get(f"{other.url}/auth/oidc/start", allow_redirects=False).json()
        assert told["code"] == "E0914" and "is-not-there" in told["detail"]
        (tmp_path / "is-not-there").write_text("shared secret")
        provider.down = True
        told = requests.get(f"{other.url}/auth/oidc/start", allow_redirects=False)
        if told.status_code != 303:
            assert told.status_code == 502 and told.json()["code"] == "E0915" and provider.issuer in told.json()["detail"]
        signed_in = other.api("POST", "/sessions", token=None, json={"name": "ada", "password": PASSWORD})
        assert signed_in.status_code == 201
        provider.down = False
        # Only accounts that are known, here; one that waits for its owner is bound to them.
        provider.user = {"sub": "u-7", "preferred_username": "alan"}
        assert sign_in(other)[0].json()["code"] == "E0917"
        other.run("person", "create", "alan", "--provider", check=True)
        _, browser = sign_in(other)
        assert whoami(other, browser).json()["name"] == "alan"
    finally:
        other.stop()


def test_a_browser_goes_to_the_provider_and_comes_back_to_where_it_was(duly, provider, open_page):
    page = open_page()
    page.goto(f"{duly.url}/ui/jobs?name=tick")
    page.get_by_role("link", name="Sign in with your organisation").click()
    page.get_by_role("heading", name="Jobs").wait_for()
    assert page.url.endswith("/ui/jobs?name=tick")
    assert "grace" in page.locator("header.topbar").inner_text()
