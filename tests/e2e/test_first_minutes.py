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


def first_minute() -> tuple[str, list[str], str, list[str]]:
    """The section as it is printed: its text, what starts the server, the job, and the commands after it."""
    text = re.search(r"## The first minute\n(.*?)The long form", README, re.S).group(1)
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, re.S)
    start, then = [[line.split("#")[0].strip() for line in block.splitlines()] for kind, block in blocks if kind == "sh"]
    return text, start, next(block for kind, block in blocks if kind == "yaml"), then


@one_server
def test_the_first_minute_of_the_readme(fresh):
    """Every line of it as it is written, by somebody who has never heard of tenants, roles or tokens."""
    text, (setup, up), job, then = first_minute()
    assert not re.search(r"tenant|role|token|DULY_", text, re.I), "a newcomer needs none of these words"
    home = fresh.root / "home"
    home.mkdir()
    env = {**{k: v for k, v in fresh.env.items() if not k.startswith(("DULY_", "XDG_"))}, "HOME": str(home),
           "DULY_URL": fresh.url, "PATH": f"{pathlib.Path(BIN).parent}:{fresh.env['PATH']}"}
    if "DULY_STORE" in fresh.env:
        env["DULY_STORE"] = fresh.env["DULY_STORE"]

    def run(line: str, stdin: str = "") -> subprocess.CompletedProcess:
        return subprocess.run(line, shell=True, cwd=fresh.root, env=env, input=stdin, capture_output=True, text=True, timeout=60)
    assert run(setup, PASSWORD + "\n").returncode == 0
    kept = home / ".config/duly/credentials.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    # Also what is stopped when the test is over.
    data = fresh.data = fresh.root / "duly-data"
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    store = b"".join(p.read_bytes() for p in data.glob("duly.db*"))
    assert PASSWORD.encode() not in store, "a password in clear"
    assert not any(token.encode() in store for token in yaml.safe_load(kept.read_text()).values()), "a token in clear"
    # Another port than the one everybody would take at once.
    log = open(fresh.root / "server-1.log", "wb")
    fresh.server = subprocess.Popen(f"exec {up} --listen 127.0.0.1:{fresh.port}", shell=True, cwd=fresh.root, env=env,
                                    stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    fresh.starts = 1
    eventually(lambda: f"duly is serving at {fresh.url}" in fresh.log_tail(), "it serves", within=60)
    (fresh.root / "tick.yaml").write_text(job)
    apply = next(line for line in then if "job apply" in line)
    unasked = run(apply)
    assert "create tick" in unasked.stdout + unasked.stderr, "a plan is shown before anything is done"
    assert "tick" not in run("duly job list").stdout, "and nothing is done without a yes"
    assert run(f"{apply} --yes").returncode == 0
    assert "1 unchanged" in run(f"{apply} --yes").stdout
    ticked = lambda: [line for line in run("duly instance list").stdout.splitlines() if "succeeded" in line][3:]
    ran = eventually(ticked, "it ticks")[0].split()[0]
    for line in then:
        told = run(line.replace("ID", ran) if "job apply" not in line else f"{line} --yes")
        assert told.returncode == 0, (line, told.stdout, told.stderr)
    assert "hello" in run(f"duly log -f {ran}").stdout
    assert run("duly doctor").returncode == 0


@one_server
def test_who_signed_in_is_remembered_until_they_sign_out(fresh):
    fresh.setup().up()
    env = {k: v for k, v in fresh.env.items() if k != "DULY_TOKEN"} | {"DULY_CREDENTIALS": str(fresh.root / "who.json"), "DULY_URL": fresh.url}

    def run(*args, stdin=""):
        return subprocess.run([BIN, *args], env=env, input=stdin, capture_output=True, text=True, timeout=60)
    assert run("job", "list").returncode != 0
    wrong = run("login", "ada", stdin="not the password\n")
    assert wrong.returncode != 0 and not (fresh.root / "who.json").exists(), wrong
    done = run("login", "ada", stdin=PASSWORD + "\n")
    assert done.returncode == 0 and "You are ada" in done.stdout + done.stderr, done
    assert run("job", "list").returncode == 0
    (fresh.root / "who.json").chmod(0o644)
    assert "chmod 600" in run("job", "list").stderr
    (fresh.root / "who.json").chmod(0o600)
    assert run("logout").returncode == 0 and run("job", "list").returncode != 0


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


def test_the_agent_port_does_not_open_without_tls(fresh):
    done = fresh.run("up", "--data", fresh.data, "--agent-listen", "0.0.0.0:0", "--agent-plain", "--listen", "127.0.0.1:0", timeout=30)
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
