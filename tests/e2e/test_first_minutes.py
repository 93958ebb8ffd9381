"""The first minutes of a stranger: the README as written, set-up by link, shapes and exit codes programs rely on."""

import pathlib
import re
import stat
import subprocess

import pytest
import requests
import yaml

from harness import BIN, PASSWORD, eventually, free_port, one_server

README = (pathlib.Path(__file__).parents[2] / "README.md").read_text()


@one_server
def test_the_first_minute_of_the_readme(fresh):
    """The two contract forms, the two-line job, and every command after it."""
    blocks = re.findall(r"```(\w+)\n(.*?)```", README, re.S)
    job = next(text for kind, text in blocks if kind == "yaml" and "job: tick" in text)
    told = next(text for kind, text in blocks if kind == "sh" and "duly setup" in text)
    assert "duly setup --data" in told and "--admin" in told and "--password-file" in told and "--token-out" in told
    assert "duly up --data" in told and "--listen" in told
    fresh.setup()
    assert stat.S_IMODE(fresh.token_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(fresh.data.stat().st_mode) == 0o700
    assert PASSWORD.encode() not in b"".join(p.read_bytes() for p in fresh.data.glob("duly.db*")), "a password in clear"
    assert fresh.token_file.read_bytes() not in b"".join(p.read_bytes() for p in fresh.data.glob("duly.db*")), "a token in clear"
    fresh.up()
    assert f"duly is serving at {fresh.url}" in fresh.log_tail()
    (fresh.root / "tick.yaml").write_text(job)
    unasked = fresh.run("job", "apply", "-f", fresh.root / "tick.yaml", stdin="")
    assert "create tick" in unasked.stdout + unasked.stderr, "a plan is shown before anything is done"
    assert fresh.json("job", "list")["items"] == [], "and nothing is done without a yes"
    fresh.run("job", "apply", "-f", fresh.root / "tick.yaml", "--yes", check=True)
    again = fresh.run("job", "apply", "-f", fresh.root / "tick.yaml", "--yes", check=True)
    assert "1 unchanged" in again.stdout + again.stderr
    ran = eventually(lambda: [i for i in fresh.instances("tick") if i["state"] == "succeeded"][3:], "it ticks")[0]
    assert "hello" in fresh.run("log", "-f", ran["id"], check=True).stdout
    assert "tick" in fresh.run("instance", "list", check=True).stdout
    assert fresh.run("why", "tick", check=True).stdout
    assert fresh.run("verify", check=True).returncode == 0
    doctor = fresh.run("doctor")
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr


def test_set_up_happens_once(fresh):
    fresh.setup()
    (fresh.root / "password").write_text(PASSWORD)
    again = fresh.run("setup", "--data", fresh.data, "--admin", "eve", "--password-file", fresh.root / "password",
                      "--token-out", fresh.root / "other")
    assert again.returncode == 1 and "done already" in again.stderr
    assert not (fresh.root / "other").exists()
    kept = fresh.token_file.read_text()
    again = fresh.run("setup", "--data", fresh.data, "--admin", "ada", "--password-file", fresh.root / "password",
                      "--token-out", fresh.token_file)
    assert again.returncode == 1 and fresh.token_file.read_text() == kept, "a script run again keeps the token it has"


def test_a_token_that_has_no_place_is_not_made(fresh):
    (fresh.root / "password").write_text(PASSWORD)
    nowhere = fresh.root / "nowhere" / "token"
    done = fresh.run("setup", "--data", fresh.data, "--admin", "ada", "--password-file", fresh.root / "password", "--token-out", nowhere)
    assert done.returncode == 1 and str(nowhere) in done.stderr
    fresh.setup()


def test_a_short_password_is_refused(fresh):
    (fresh.root / "password").write_text("short\n")
    done = fresh.run("setup", "--data", fresh.data, "--admin", "ada", "--password-file", fresh.root / "password",
                     "--token-out", fresh.token_file)
    assert done.returncode == 1 and "password" in done.stderr and not fresh.token_file.exists()


@pytest.fixture
def not_set_up(fresh):
    """Started before anybody set it up, and told to listen to the world."""
    log = open(fresh.root / "server-1.log", "wb")
    fresh.server = subprocess.Popen([BIN, "up", "--data", str(fresh.data), "--listen", f"0.0.0.0:{fresh.port}"],
                                    stdout=log, stderr=subprocess.STDOUT, start_new_session=True, env=fresh.env)
    eventually(lambda: "/ui/setup#" in fresh.log_tail(100), "it prints a link")
    return fresh


def listens_on(duly) -> set:
    """The addresses of the server's port, from the kernel's own table."""
    port = f"{duly.port:04X}"
    lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {words[1].split(":")[0] for words in lines if words[1].endswith(f":{port}") and words[3] == "0A"}


def test_until_set_up_it_listens_on_loopback_and_the_link_works_once(not_set_up):
    duly = not_set_up
    assert listens_on(duly) == {"0100007F"}
    token = re.search(r"/ui/setup#(\S+)", duly.log_tail(100)).group(1)
    closed = duly.api("GET", "/jobs", token=None)
    assert closed.status_code in (401, 403, 503) and closed.headers["content-type"].startswith("application/problem+json")
    body = {"token": token, "admin": "ada", "password": PASSWORD}
    wrong = duly.api("POST", "/setup", token=None, json={**body, "token": "setup_wrong"})
    assert wrong.status_code == 403, wrong.text
    weak = duly.api("POST", "/setup", token=None, json={**body, "password": "short"})
    assert weak.status_code in (400, 422), weak.text
    done = duly.api("POST", "/setup", token=None, json=body)
    assert done.status_code == 201, done.text
    duly.token_file.write_text(done.json()["token"])
    assert duly.api("GET", "/jobs").status_code == 200
    twice = duly.api("POST", "/setup", token=None, json={**body, "admin": "eve"})
    assert twice.status_code in (403, 409), twice.text
    session = duly.api("POST", "/sessions", token=None, json={"name": "ada", "password": PASSWORD})
    assert session.status_code == 201
    assert listens_on(duly) == {"0100007F"}, "it opens when it is started anew"
    duly.kill_server()
    duly.server = subprocess.Popen([BIN, "up", "--data", str(duly.data), "--listen", f"0.0.0.0:{duly.port}"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=duly.env)
    eventually(duly.is_ready, "it is ready")
    assert listens_on(duly) == {"00000000"}


def test_the_agent_port_does_not_open(fresh):
    done = fresh.run("up", "--data", fresh.data, "--agent-listen", "0.0.0.0:0", "--listen", "127.0.0.1:0", timeout=30)
    assert done.returncode == 1 and "loopback" in done.stderr


# ---- shapes and exit codes


def test_lists_have_one_shape(shared):
    shared.apply("job: shape\noverlap: allow\nnoop: true\n")
    ids = [shared.trigger("shape") for _ in range(3)]
    assert all(shared.ended(i)["state"] == "succeeded" for i in ids)
    page = shared.json("instance", "list", "--job", "shape", "--limit", "2")
    assert list(page) == ["items", "next"]
    assert [i["id"] for i in page["items"]] == ids[:0:-1], "newest first"
    assert {"id", "job", "planned_at", "state"} <= set(page["items"][0])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", page["items"][0]["planned_at"])
    rest = shared.json("instance", "list", "--job", "shape", "--limit", "2", "--cursor", page["next"])
    assert [i["id"] for i in rest["items"]] == ids[:1] and rest["next"] is None
    empty = shared.json("instance", "list", "--state", "dead")
    assert empty == {"items": [], "next": None}


def test_fifty_by_default(shared):
    shared.apply("job: many\noverlap: allow\nnoop: true\n")
    for _ in range(51):
        assert shared.api("POST", "/jobs/many/trigger", json={}).status_code == 201
    page = shared.json("instance", "list", "--job", "many")
    assert len(page["items"]) == 50 and page["next"]


def test_exit_codes_mean_something(shared):
    shared.apply("job: well\nnoop: true\n---\njob: badly\nsh: exit 1\n")
    assert shared.run("job", "trigger", "well", "--wait").returncode == 0
    assert shared.run("job", "trigger", "badly", "--wait").returncode == 7
    assert shared.run("job", "show", "nobody").returncode == 3
    assert shared.run("instance", "show", "999999999").returncode == 3
    assert shared.run("job", "apply").returncode == 2
    assert shared.run("instance", "list", "--limit", "0").returncode == 2
    assert shared.run("instance", "list", "--token", "duly_wrong").returncode == 4
    assert shared.run("instance", "list", "--url", f"http://127.0.0.1:{free_port()}").returncode == 5
    refused = shared.run("job", "show", "nobody", "--json")
    assert refused.returncode == 3 and refused.stdout == "" and '"code"' in refused.stderr


def test_faults_of_a_job_file_are_told_together_with_their_place(shared):
    path = shared.root / "faulty.yaml"
    path.write_text("job: one\nsh: true\ntimeout: soon\n---\njob: two\nnoop: true\nsh: true\n"
                    '---\njob: three\nnoop: true\ncron: "0 61 * * * ?"\nstop_grace: often\n---\njob: four\nnop: true\n')
    done = shared.run("job", "apply", "-f", path, "--yes")
    assert done.returncode == 2
    for words in ("faulty.yaml", "timeout line 3", "given together", "minute field", "cron line 11", "stop_grace line 12",
                  "no key `nop`", "5 things are wrong"):
        assert words in done.stderr, (words, done.stderr)
    told = [int(n) for n in re.findall(r" line (\d+)", done.stderr)]
    assert told == sorted(told), done.stderr
    path.write_text('job: one\nnoop: true\n---\njob: two\nnoop: true\ncron: "0 61 * * * ?"\n')
    done = shared.run("job", "apply", "-f", path, "--yes")
    assert done.returncode != 0 and "minute" in done.stderr and "line 6" in done.stderr, done.stderr
    assert shared.run("job", "show", "one").returncode == 3, "nothing is done when something is wrong"


def test_examples_and_export_can_be_applied(shared):
    printed = shared.run("examples", "--print", check=True).stdout
    names = {body["job"] for body in yaml.safe_load_all(printed)}
    assert len(names) == 3
    shared.run("examples", "--yes", check=True)
    exported = shared.run("job", "export", *names, check=True).stdout
    path = shared.root / "exported.yaml"
    path.write_text(exported)
    again = shared.run("job", "apply", "-f", path, "--yes", check=True)
    assert "3 unchanged" in again.stdout + again.stderr
    for name in names:
        shared.run("job", "delete", name, "--yes", check=True)
    assert not names & {body["job"] for body in yaml.safe_load_all(shared.run("job", "export", check=True).stdout) if body}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shared, shell):
    script = shared.run("completion", shell, check=True).stdout
    assert "duly" in script and "setup" in script and "instance" in script
    if shell == "bash":
        assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0


def test_an_idempotency_key_gives_one_instance(shared):
    shared.apply("job: keyed\noverlap: allow\nnoop: true\n")
    answers = [shared.api("POST", "/jobs/keyed/trigger", json={}, headers={"Idempotency-Key": "k-1"}) for _ in range(3)]
    assert [a.status_code for a in answers] == [201] * 3 and len({a.json()["id"] for a in answers}) == 1
    assert len(shared.instances("keyed")) == 1
    assert shared.trigger("keyed", "--key", "k-2") == shared.trigger("keyed", "--key", "k-2")


def test_metrics_tell_the_state(shared):
    answer = requests.get(shared.url + "/metrics", headers={"Authorization": f"Bearer {shared.token_file.read_text()}"}, timeout=10)
    assert answer.status_code == 200
    names = {line.split("{")[0].split(" ")[0] for line in answer.text.splitlines() if line and not line.startswith("#")}
    for part in ("lateness", "commit"):
        assert any(part in name for name in names), (part, sorted(names))
    assert requests.get(shared.url + "/metrics", timeout=10).status_code == 401
    assert requests.get(shared.url + "/", timeout=10).status_code == 200
