"""Who did what: changes and refusals are recorded with who, where, what and why; whoever tampers with the record is found out."""

import contextlib
import hashlib
import json
import pathlib
import re
import sqlite3
import subprocess
import sys

import pytest
import requests

from harness import PASSWORD, embedded, eventually
from postgres import ask

DOCS = pathlib.Path(__file__).parents[2] / "docs" / "audit.md"
SECRETS = ["env-secret-9f3a", "script-secret-51c0", "param-secret-77aa", "typed-into-the-wrong-field"]


def entries(duly, *filters) -> list:
    """Newest first, with their numbers."""
    return [{**item["entry"], "seq": item["seq"]} for item in duly.json("audit", "list", "--limit", "500", *filters)["items"]]


def one(duly, *filters) -> dict:
    found = entries(duly, *filters)
    assert len(found) == 1, found
    return found[0]


def verify(duly, *more) -> tuple[int, dict]:
    done = duly.run("audit", "verify", "--json", *more)
    return done.returncode, json.loads(done.stdout)


def kinds(duly, *more) -> list[tuple[int, str]]:
    code, told = verify(duly, *more)
    assert (code == 6) == bool(told["findings"]) == (not told["ok"]), told
    return [(finding["seq"], finding["kind"]) for finding in told["findings"]]


def test_a_change_is_told_with_who_where_what_before_after_and_why(shared):
    shared.apply("job: told\nnoop: true\ncron: \"0 0 3 * * ?\"\n")
    shared.apply("job: told\nnoop: true\ncron: \"0 0 4 * * ?\"\n")
    shared.run("job", "pause", "told", "--reason", "月末: month end", check=True)
    changed, made = entries(shared, "--about", "told", "--operation", "job_apply")
    assert made["after"]["items"][0]["action"] == "create"
    [item] = changed["after"]["items"]
    assert (item["name"], item["action"], item["fields"]["cron"]) == ("told", "change", {"old": "0 0 3 * * ?", "new": "0 0 4 * * ?"})
    assert item["version_before"] < item["version"]

    paused = one(shared, "--about", "told", "--operation", "job_pause")
    assert (paused["who"], paused["about"], paused["outcome"]) == ("ada", {"name": "told"}, "done")
    assert paused["by"].startswith("token ") and paused["from"].startswith("127.0.0.1:")
    assert (paused["before"]["mode"], paused["after"]["mode"]) == ("enabled", "paused")
    assert paused["reason"] == "月末: month end"

    answer = shared.api("PUT", "/limits", json={"limit": 17}, headers={"Duly-Reason": "peak"})
    limited = entries(shared, "--operation", "limit_put")[0]
    assert limited["request"] == answer.headers["x-request-id"]
    assert (limited["after"], limited["reason"]) == ({"limit": 17}, "peak")
    shared.api("PUT", "/limits", json={"limit": None})
    assert entries(shared, "--operation", "limit_put")[0]["before"] == {"limit": 17}
    shown = shared.run("audit", "show", paused["seq"], check=True).stdout
    assert "month end" in shown and "paused" in shown

    run = shared.trigger("told")
    eventually(lambda: one(shared, "--about", "told", "--operation", "job_trigger")["after"]["instance"] == run, "a trigger is recorded")


def test_people_tenants_and_values_are_told_with_before_and_after(shared):
    def changed(*filters):
        [found, *_] = entries(shared, *filters)
        return found.get("before"), found.get("after")
    tell = lambda *args: shared.run(*args, check=True)
    tell("variable", "set", "zone", "east")
    tell("variable", "set", "zone", "west")
    assert changed("--operation", "variable_put") == ({"level": "tenant", "value": "east"}, {"level": "tenant", "value": "west"})
    tell("variable", "delete", "zone")
    assert changed("--operation", "variable_delete") == ({"level": "tenant", "value": "west"}, None)
    for value in ("first-value", "second-value"):
        shared.run("secret", "set", "door", stdin=value, check=True)
    before, after = changed("--operation", "secret_put")
    assert (before["version"], after["version"]) == (1, 2) and "value" not in str(before) + str(after)

    tell("tenant", "create", "told")
    tell("tenant", "set", "told", "--running", 3, "--weight", 2)
    before, after = changed("--operation", "tenant_set")
    assert (before.get("running"), before["weight"], after["running"], after["weight"]) == (None, 1, 3, 2)

    tell("person", "create", "robot", "--service")
    tell("role", "set", "looker", "job.see")
    tell("role", "set", "looker", "job.see", "job.run")
    assert changed("--operation", "role_put") == ({"permissions": ["job.see"]}, {"permissions": ["job.see", "job.run"]})
    granted = shared.json("grant", "create", "looker", "--person", "robot", "--folder", "etl")["id"]
    tell("grant", "delete", granted)
    before, _ = changed("--operation", "grant_delete")
    assert (before["person"], before["role"], before["folder"]) == ("robot", "looker", "etl")
    tell("person", "disable", "robot")
    before, after = changed("--operation", "person_disable")
    assert (before["disabled"], after["disabled"]) == (False, True)
    assert verify(shared)[0] == 0


def test_refusals_and_sign_ins_are_told(shared):
    assert shared.api("DELETE", "/jobs/nowhere").status_code == 404
    assert shared.api("DELETE", "/jobs/somewhere", token="duly_guess").status_code == 401
    assert shared.api("GET", "/tokens", token="duly_guess").status_code == 401
    known = lambda: one(shared, "--about", "nowhere", "--outcome", "refused")
    eventually(lambda: (known()["who"], known()["outcome"]) == ("ada", "E0301"), "somebody known was refused")
    stranger = eventually(lambda: one(shared, "--about", "somewhere"), "somebody unknown was refused")
    assert "who" not in stranger and stranger["outcome"] == "E0601"
    eventually(lambda: entries(shared, "--operation", "token_list", "--outcome", "E0601"), "so was a look")

    sign_in = lambda name, word: shared.api("POST", "/sessions", token=None, json={"name": name, "password": word})
    session = sign_in("ada", PASSWORD).json()["token"]
    assert sign_in("ada", "wrong-password").status_code == 401
    assert sign_in(SECRETS[3], "x" * 12).status_code == 401
    assert shared.api("DELETE", "/sessions", token=session).status_code == 204
    went_well = one(shared, "--operation", "session_open", "--outcome", "done")
    assert went_well["who"] == "ada"
    failed = lambda: [entry.get("about", {}) for entry in entries(shared, "--operation", "session_open", "--outcome", "E0603")]
    eventually(lambda: failed() == [{}, {"name": "ada"}], "a name that nobody has is not repeated")
    assert one(shared, "--operation", "session_close")["by"].startswith("session ")
    assert one(shared, "--operation", "setup")["by"] == "command"
    assert entries(shared, "--operation", "agent_join")[-1]["outcome"] == "done"
    assert entries(shared, "--operation", "server_start")


def test_a_flood_of_refusals_is_counted(shared):
    with requests.Session() as attacker:
        for _ in range(80):
            attacker.get(shared.url + "/api/v1/jobs", headers={"Authorization": "Bearer flood"}, timeout=10)
    eventually(lambda: entries(shared, "--operation", "job_list"), "some are written")
    assert len(entries(shared, "--operation", "job_list")) <= 20, "ten a minute, and a minute may have turned"


def test_no_secret_gets_into_the_audit(shared):
    shared.apply(f"job: hides\nsh: 'echo {SECRETS[1]}'\nenv: {{ PASSWORD: {SECRETS[0]} }}\nparams: {{ key: {SECRETS[2]} }}\n")
    shared.apply(f"job: hides\nsh: 'echo {SECRETS[1]} again'\nenv: {{ PASSWORD: {SECRETS[0]}2 }}\n")
    shared.run("job", "trigger", "hides", "--param", f"key={SECRETS[2]}", check=True)
    made = shared.json("token", "create", "ci")["token"]
    joined, executors = shared.json("join-token")["token"], shared.json("xxl-token", "create")["token"]
    session = shared.api("POST", "/sessions", token=None, json={"name": "ada", "password": PASSWORD}).json()["token"]
    for token in (made, session):
        assert shared.api("POST", "/jobs/hides/pause", token=token).status_code == 200
    shared.api("POST", "/jobs/hides/pause", token=made + "x")
    eventually(lambda: entries(shared, "--operation", "job_trigger", "--about", "hides"), "all of it is written")
    changed = entries(shared, "--about", "hides", "--operation", "job_apply")[0]["after"]["items"][0]["fields"]
    assert changed["env.PASSWORD"] == changed["sh"] == "changed"
    kept = shared.run("audit", "export", check=True).stdout
    for secret in [*SECRETS, PASSWORD, "wrong-password", made, session, joined, joined.split("@")[0], executors, shared.token_file.read_text()]:
        assert secret not in kept, secret


def test_an_export_is_checked_without_a_server(shared, tmp_path):
    shared.apply("job: exported\nnoop: true\n")
    export = tmp_path / "audit.jsonl"
    shared.run("audit", "export", "-o", export, check=True)
    lines = export.read_text().splitlines()
    check = lambda path, *more: shared.run("audit", "verify", "--file", path, *more, "--url", "http://127.0.0.1:1")
    assert check(export).returncode == 0, check(export).stderr
    head = json.loads(lines[0])["head"]
    assert check(export, "--expect", f"{head['seq']}:{head['hash']}").returncode == 0
    # The rule as the manual says it.
    rule = re.search(r"```python\n(.*?)```", DOCS.read_text(), re.S).group(1)
    subprocess.run([sys.executable, "-c", rule, str(export)], check=True)

    def told(changed: list[str]) -> str:
        (tmp_path / "changed").write_text("\n".join(changed) + "\n")
        done = check(tmp_path / "changed")
        assert done.returncode == 6, done.stdout + done.stderr
        assert subprocess.run([sys.executable, "-c", rule, str(tmp_path / "changed")], capture_output=True).returncode != 0
        return done.stdout
    assert "entry 1 was changed" in told([lines[0], lines[1].replace("setup", "apply"), *lines[2:]])
    assert "entry 2 was taken out" in told([*lines[:2], *lines[3:]])
    assert "entry 2 was moved" in told([*lines[:2], lines[3], lines[2], *lines[4:]])
    assert "cut off" in told(lines[:-2])


@embedded
def test_tampering_with_the_store_is_found(duly):
    for n in range(6):
        duly.apply(f"job: j{n}\nnoop: true\n")
    eventually(lambda: entries(duly, "--operation", "agent_join"), "the agent's joining is written")
    assert kinds(duly) == []
    noted = verify(duly)[1]["head"]
    store = sqlite3.connect(duly.data / "duly.db", timeout=10, isolation_level=None)
    seq, text = next(row for row in store.execute("select seq, entry from audit order by seq") if '"j3"' in row[1])
    with pytest.raises(sqlite3.DatabaseError, match="never changed"):
        store.execute("update audit set entry = '{}' where seq = ?", [seq])
    for trigger in ("audit_stays", "audit_is_kept"):
        store.execute(f"drop trigger {trigger}")

    @contextlib.contextmanager
    def tampered(*statements):
        rows, head = store.execute("select * from audit order by seq").fetchall(), store.execute("select * from audit_head").fetchall()
        for statement, *values in statements:
            store.execute(statement, values)
        yield
        store.execute("delete from audit")
        store.execute("delete from audit_head")
        store.executemany("insert into audit values (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        store.executemany("insert into audit_head values (?, ?, ?, ?, ?)", head)
        assert kinds(duly) == []

    with tampered(("update audit set entry = ? where seq = ?", text.replace("ada", "bob"), seq)):
        assert kinds(duly)[0] == (seq, "changed")
    with tampered(("update audit set actor = 'bob' where seq = ?", seq)):
        assert kinds(duly) == [(seq, "mislabelled")]
    with tampered(("delete from audit where seq in (?, ?)", seq, seq + 1)):
        assert kinds(duly) == [(seq, "missing")]
    with tampered(("update audit set seq = -1 where seq = ?", seq), ("update audit set seq = ? where seq = ?", seq, seq + 1),
                  ("update audit set seq = ? where seq = -1", seq + 1)):
        assert kinds(duly)[0] == (seq, "moved")
    with tampered(("delete from audit where seq >= ?", noted["seq"] - 1)):
        assert kinds(duly) == [(noted["seq"] - 1, "cut_off")]
        assert duly.run("audit", "verify").returncode == 6
    with tampered(*written_anew(store, seq, text.replace("ada", "bob"))):
        assert kinds(duly) == [], "a chain that was written anew as a whole looks whole"
        assert kinds(duly, "--expect", f"{noted['seq']}:{noted['hash']}") == [(noted["seq"], "rewritten")]
    assert kinds(duly, "--expect", noted["hash"]) == []


@pytest.mark.parametrize("duly", ["postgres"], indirect=True)
def test_tampering_with_postgresql_is_found(duly):
    for n in range(6):
        duly.apply(f"job: j{n}\nnoop: true\n")
    eventually(lambda: entries(duly, "--operation", "agent_join"), "the agent's joining is written")
    assert kinds(duly) == []
    store, last = duly.env["DULY_STORE"], verify(duly)[1]["head"]["seq"]
    seq = int(ask(store, """select min(seq) from duly.audit where entry like '%"j2"%'"""))
    changed = f"update duly.audit set entry = replace(entry, 'ada', 'bob') where seq = {seq}"
    for statement in (changed, f"delete from duly.audit where seq = {seq}", "truncate duly.audit"):
        with pytest.raises(subprocess.CalledProcessError) as refused:
            ask(store, statement)
        assert "never changed or deleted" in refused.value.stderr
    ask(store, "drop trigger audit_stays on duly.audit; drop trigger audit_is_kept on duly.audit; create table kept as table duly.audit")
    for statement, found in [
        (changed, (seq, "changed")),
        (f"update duly.audit set actor = 'bob' where seq = {seq}", (seq, "mislabelled")),
        (f"delete from duly.audit where seq in ({seq}, {seq + 1})", (seq, "missing")),
        (f"delete from duly.audit where seq >= {last - 1}", (last - 1, "cut_off")),
    ]:
        ask(store, statement)
        assert kinds(duly)[0] == found
        ask(store, "delete from duly.audit; insert into duly.audit table kept")
        assert kinds(duly) == []


def written_anew(store, seq: int, text: str) -> list:
    """What somebody does who knows the rule and can write to the store."""
    sha = lambda text: hashlib.sha256(text.encode()).hexdigest()
    before = store.execute("select hash from audit where seq = ?", [seq - 1]).fetchone()[0].hex()
    done = [("update audit set actor = 'bob' where seq = ?", seq)]
    for number, words in store.execute("select seq, entry from audit where seq >= ? order by seq", [seq]).fetchall():
        words = text if number == seq else words
        before = sha(f"{number}\n{before}\n{sha(words)}")
        done.append(("update audit set entry = ?, hash = ? where seq = ?", words, bytes.fromhex(before), number))
    return [*done, ("update audit_head set hash = ?", bytes.fromhex(before))]


def test_servers_of_a_cluster_make_one_chain_and_record_what_they_pass_on_once(make):
    cluster = make(servers=2, agents=0)
    one, other = cluster.nodes
    names = [f"j{n}" for n in range(8)]
    one.apply("---\n".join(f"job: {name}\nnoop: true\n" for name in names))
    for name in names:
        one.run("job", "pause", name, check=True)
    paused = entries(other, "--operation", "job_pause")
    assert sorted(entry["about"]["name"] for entry in paused) == names, "each once"
    assert {entry["server"] for entry in paused} == {"s1", "s2"}, "whichever did it"
    assert all(entry["from"].startswith("127.0.0.1:") and entry["who"] == "ada" for entry in paused)
    assert verify(one)[0] == verify(other)[0] == 0
