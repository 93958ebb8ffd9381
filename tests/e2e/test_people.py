"""Accounts, roles, tokens and sessions, as somebody at a command line meets them, and in a cluster."""

import requests

from harness import eventually

FIRST, OWN = "a first password", "one of their own"


def sign_in(duly, name, password):
    return duly.api("POST", "/sessions", token=None, json={"name": name, "password": password})


def person(duly, name, *grant):
    """Somebody with a password of their own; their session."""
    (duly.root / "first").write_text(FIRST + "\n")
    (duly.root / "own").write_text(OWN + "\n")
    duly.run("person", "create", name, "--password-file", duly.root / "first", check=True)
    if grant:
        duly.run("grant", "create", *grant, "--person", name, check=True)
    session = sign_in(duly, name, FIRST).json()["token"]
    assert duly.api("GET", "/jobs", token=session).json()["code"] == "E0905"
    changed = duly.api("PUT", "/whoami/password", token=session, json={"old": FIRST, "new": OWN})
    assert changed.status_code == 204
    return session


def test_a_second_person_does_what_they_are_allowed_and_no_more(shared):
    shared.apply("job: quiet\nmanual: true\nnoop: true\n")
    bob = person(shared, "bob", "viewer")
    assert shared.api("GET", "/jobs/quiet", token=bob).status_code == 200
    assert shared.api("POST", "/jobs/quiet/trigger", token=bob, json={}).status_code == 403
    shared.run("role", "set", "starter", "job.see", "job.run", "instance.see", check=True)
    shared.run("grant", "create", "starter", "--person", "bob", check=True)
    assert shared.api("POST", "/jobs/quiet/trigger", token=bob, json={}).status_code == 201
    assert shared.api("DELETE", "/jobs/quiet", token=bob).status_code == 403
    assert "starter" in shared.run("grant", "list", check=True).stdout
    assert "must change password" not in shared.run("person", "list", check=True).stdout
    shown = shared.run("person", "show", "bob", check=True).stdout
    assert "active" in shown and "password" in shown
    refused = shared.run("role", "delete", "starter")
    assert refused.returncode != 0 and "E0909" in refused.stderr
    last = shared.run("person", "delete", "ada", "--yes")
    assert last.returncode != 0 and "E0904" in last.stderr


def test_a_token_of_a_program_carries_what_it_is_given(shared):
    shared.run("person", "create", "deploy", "--service", check=True)
    shared.run("grant", "create", "developer", "--person", "deploy", check=True)
    made = shared.json("token", "create", "ci", "--person", "deploy", "--scope", "job.see", "--only-here", "--expires-in", "1h")
    who = shared.api("GET", "/whoami", token=made["token"]).json()
    assert (who["name"], who["token"], who["rights"][0]["permissions"]) == ("deploy", "ci", ["job.see"])
    assert shared.api("GET", "/jobs", token=made["token"]).status_code == 200
    assert shared.api("POST", "/jobs/apply", token=made["token"], json={}).status_code == 403
    listed = shared.run("token", "list", "--person", "deploy", check=True).stdout
    assert "job.see in default" in listed and made["token"] not in listed
    shared.run("token", "revoke", made["id"], "--person", "deploy", "--yes", check=True)
    assert shared.api("GET", "/jobs", token=made["token"]).status_code == 401
    assert shared.json("whoami")["name"] == "ada"


def test_sessions_are_seen_and_ended(shared):
    person(shared, "carol", "viewer")
    browser = requests.Session()
    browser.headers["user-agent"] = "a browser\tof sorts"
    assert browser.post(f"{shared.url}/api/v1/sessions", json={"name": "carol", "password": OWN}).status_code == 201
    listed = shared.run("session", "list", "--person", "carol", check=True).stdout
    assert "a browserof sorts" in listed and "127.0.0.1" in listed
    shared.run("session", "end", "--person", "carol", check=True)
    assert browser.get(f"{shared.url}/api/v1/whoami").status_code == 401
    shared.run("person", "disable", "carol", check=True)
    assert sign_in(shared, "carol", OWN).status_code == 401
    shared.run("person", "enable", "carol", check=True)
    assert sign_in(shared, "carol", OWN).status_code == 201
    shared.run("person", "delete", "carol", "--yes", check=True)
    assert shared.run("person", "show", "carol").returncode == 3


def test_groups_by_the_command_line(shared):
    person(shared, "dora")
    shared.run("group", "create", "night", check=True)
    shared.run("group", "add", "night", "dora", check=True)
    granted = shared.json("grant", "create", "operator", "--group", "night", "--folder", "etl", "--label", "team=a")
    assert granted["folder"] == "etl" and granted["labels"] == {"team": "a"}
    assert "dora" in shared.run("group", "list", check=True).stdout
    shared.run("grant", "delete", granted["id"], check=True)
    shared.run("group", "remove", "night", "dora", check=True)
    shared.run("group", "delete", "night", "--yes", check=True)
    assert shared.run("group", "delete", "night", "--yes").returncode == 3


def test_what_one_server_revokes_every_server_refuses_soon(make):
    first, second = make(servers=2, agents=0).nodes
    first.api("POST", "/people", json={"name": "deploy", "kind": "service"})
    grant = first.api("POST", "/grants", json={"person": "deploy", "role": "viewer"}).json()
    token = first.api("POST", "/people/deploy/tokens", json={"name": "ci"}).json()
    ask = lambda path: second.api("GET", path, token=token["token"]).status_code
    eventually(lambda: ask("/jobs") == 200, "the other server knows them", within=5)
    first.api("DELETE", f"/grants/{grant['id']}")
    # It looked them up just now, and would remember for thirty seconds.
    eventually(lambda: ask("/jobs") == 403, "the grant is gone", within=3)
    first.api("DELETE", f"/people/deploy/tokens/{token['id']}")
    eventually(lambda: ask("/whoami") == 401, "the token is worthless", within=3)
    # Wrong passwords are counted together.
    answers = [sign_in([first, second][n % 2], "ada", "a guess").status_code for n in range(9)]
    assert answers[:5] == [401] * 5 and 429 in answers[5:] and answers.count(401) < 9
