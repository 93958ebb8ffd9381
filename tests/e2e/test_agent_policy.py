"""What an agent's own policy lets tasks do, and an agent that is cut off."""

import base64
import json
import os
import pathlib
import shutil
import tempfile

import pytest

from harness import Duly, eventually, one_server

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run tasks as another user")


@pytest.fixture(scope="module")
def duly(tmp_path_factory):
    one = Duly(tmp_path_factory.mktemp("policy")).setup().up()
    try:
        eventually(one.agent_online, "the local agent is online")
        yield one
    finally:
        one.stop()


def agent(duly: Duly, name: str, policy: str):
    """One more agent, alone in a pool of its own name, under this policy."""
    file = duly.root / f"{name}.toml"
    file.write_text(policy)
    process = duly.join_agent(name, "--pool", name, "--policy", file)
    eventually(lambda: duly.online(name), f"{name} is online")
    return process


def ran(duly: Duly, job: str, body: str) -> tuple[str, str, str, str]:
    instance = duly.apply_and_trigger(job, body)
    seen = duly.ended(instance)
    out = duly.run("log", instance).stdout if seen["state"] == "succeeded" else ""
    return seen["state"], seen.get("reason") or "", seen.get("message") or "", out


def test_what_the_policy_forbids_is_refused_in_words(duly, tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "out").symlink_to("/")
    strict = agent(duly, "strict", f"""
        [allow]
        tasks = ["command", "http"]
        directories = ["{inside}"]
        programs = ["/usr/bin", "/bin"]
        [env]
        set = ["GREETING", "LC_*"]
        [http]
        private = false
    """)
    file = duly.root / "strict.toml"

    # Nobody may run it: it waits and says so, and goes on when somebody may.
    waiting = duly.apply_and_trigger("scripted", "pool: strict\nsh: echo hello")
    why = eventually(lambda: [r["text"] for r in duly.json("why", waiting)["reasons"] if r["kind"] == "no_agent_may"], "it says why")
    assert why == ["no agent may run sh: policy of strict"]
    duly.run("instance", "stop", waiting, check=True)

    for job, body, words in [
        ("elsewhere", "command: [pwd]\ncwd: /", "E0973: the policy of agent strict forbids it: tasks do not start in / "),
        ("by-link", f"command: [pwd]\ncwd: {inside}/out", "E0973: the policy of agent strict forbids it: tasks do not start in / "),
        ("foreign-program", f"command: [{duly.bin}, --version]", "E0974: the policy of agent strict forbids it: "),
        ("preloaded", "command: [env]\nenv: { LD_PRELOAD: /tmp/evil.so }", "E0975: the policy of agent strict forbids it: a job may not set LD_PRELOAD"),
        ("unlisted", "command: [env]\nenv: { OTHER: x }", "E0975: the policy of agent strict forbids it: a job may not set OTHER"),
        ("inward", "http: http://127.0.0.1:1/", "E0982: "),
    ]:
        state, reason, message, _ = ran(duly, job, f"pool: strict\nretry: 3\n{body}")
        assert (state, reason) == ("dead", "refused"), (job, message)
        assert message.startswith(words), message
        if "policy of agent" in words:
            assert f"in {file} on its machine)" in message, "it says where to change it"
    state, _, message, out = ran(duly, "allowed", f"pool: strict\ncommand: [sh, -c, 'echo $GREETING; pwd']\nenv: {{ GREETING: hello }}\ncwd: {inside}")
    assert (state, out.split()) == ("succeeded", ["hello", str(inside)]), message

    shown = duly.run("agents", "show", "strict").stdout
    assert "command, http" in shown and str(file) in shown and str(inside) in shown
    strict.kill()


def test_without_a_policy_nothing_is_smuggled_in(duly):
    state, reason, message, _ = ran(duly, "smuggled", "sh: echo hello\nenv: { LD_PRELOAD: /tmp/evil.so }")
    assert (state, reason) == ("failed", "refused") and message.startswith("E0975")
    assert ran(duly, "plain", "sh: echo hello\nenv: { GREETING: hello }")[0] == "succeeded"


@as_root
def test_tasks_run_as_another_user(duly):
    # A place that user can enter; what pytest makes is for its own user alone.
    place = pathlib.Path(tempfile.mkdtemp(prefix="duly-policy-"))
    try:
        place.chmod(0o711)
        other = agent(duly, "other", f"""
            run_as = "nobody"
            work = "{place}/work"
            [allow]
            users = ["daemon"]
        """)
        script = "id -u; id -G; pwd; echo $USER $HOME; grep -c ^CapEff:.*0000000000000000 /proc/self/status; echo again > /dev/stdout"
        state, _, message, out = ran(duly, "as-nobody", f"pool: other\nsh: {script}")
        assert state == "succeeded", message
        lines = out.splitlines()
        assert lines[:3] == ["65534", "65534", f"{place}/work/of-nobody"] and lines[4:] == ["1", "again"], out
        assert lines[3].startswith("nobody ")
        state, _, message, out = ran(duly, "as-daemon", "pool: other\nrun_as: daemon\ncommand: [id, -un]")
        assert (state, out.strip()) == ("succeeded", "daemon"), message
        state, reason, message, _ = ran(duly, "as-root", "pool: other\nrun_as: root\ncommand: [id, -un]")
        assert (state, reason) == ("failed", "refused")
        assert message.startswith("E0972: the policy of agent other forbids it: tasks do not run as root (allow.users in ")
        # What is the agent's own stays out of reach.
        data = duly.root / "data-agents" / "other"
        state, _, _, _ = ran(duly, "nosy", f"pool: other\ncommand: [cat, {data}/identity]")
        assert state == "failed"
        # A stop reaches tasks of other users, too.
        instance = duly.apply_and_trigger("long", "pool: other\nsh: echo up; sleep 600")
        eventually(lambda: "up" in duly.run("log", instance).stdout, "it runs")
        duly.run("instance", "stop", instance, check=True)
        assert duly.ended(instance)["state"] == "stopped"
        other.kill()
    finally:
        shutil.rmtree(place, ignore_errors=True)


@as_root
def test_a_tenants_tasks_run_as_its_own_user(duly):
    place = pathlib.Path(tempfile.mkdtemp(prefix="duly-policy-"))
    try:
        place.chmod(0o711)
        mixed = agent(duly, "mixed", f"""
            run_as = "nobody"
            work = "{place}/work"
            [tenants.acme]
            run_as = "daemon"
        """)
        duly.run("tenant", "create", "acme", check=True)
        number = next(a["id"] for a in duly.json("agents", "list")["items"] if a["name"] == "mixed")
        duly.run("agents", "share", number, "--everyone", check=True)
        assert ran(duly, "whose", "pool: mixed\nsh: id -un")[3].strip() == "nobody", "the others' tasks"

        within = lambda *args: duly.run("--tenant", "acme", *args, check=True).stdout
        file = duly.root / "acme.yaml"
        file.write_text("job: whose\nmanual: true\npool: mixed\nsh: id -un\n")
        within("job", "apply", "-f", file, "--yes")
        instance = json.loads(within("job", "trigger", "whose", "--json"))["id"]
        eventually(lambda: within("log", instance).strip() == "daemon", "a task of the tenant runs as the tenant's user")
        mixed.kill()
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.parametrize("policy, words", [
    ("run_ass = 'x'", ["E0976", "line 1", "unknown field"]),
    ("[allow]\ntasks = ['shell']", ["E0976", "allow.tasks", "no kind of task"]),
    ("run_as = 'no-such-user'", ["E0976", "this machine has no user no-such-user"]),
    pytest.param("run_as = 'nobody'", ["E0976", "add work ="], marks=as_root),
])
def test_an_agent_does_not_start_with_a_bad_policy(duly, tmp_path, policy, words):
    file = tmp_path / "agent.toml"
    file.write_text(policy)
    refused = duly.run("agent", "--data", tmp_path / "data", "--server", "http://127.0.0.1:1", "--policy", file, timeout=30)
    told = refused.stdout + refused.stderr
    assert refused.returncode != 0 and str(file) in told
    assert all(word in told for word in words), told


def test_a_revoked_agent_is_cut_off_and_nothing_of_it_is_believed(duly):
    doomed = agent(duly, "doomed", "")
    fifo = duly.root / "go"
    os.mkfifo(fifo)
    instance = duly.apply_and_trigger("abandoned", f"pool: doomed\nlost_after: 1h\nsh: echo up; cat {fifo}; echo ended")
    eventually(lambda: "up" in duly.run("log", instance).stdout, "it runs")
    busy = lambda: [a for a in duly.json("agents", "list")["items"] if a["name"] == "doomed" and a["load"]["running"]]
    eventually(busy, "it says that it is busy")
    busy = duly.run("agents", "remove", "doomed", "--yes")
    assert busy.returncode != 0 and "E0502" in busy.stderr
    duly.run("agents", "revoke", "doomed", "--yes", check=True)
    assert "doomed" not in [a["name"] for a in duly.json("agents", "list")["items"]]
    log = duly.root / "agent-doomed.log"
    eventually(lambda: "removed" in log.read_text(), "it is told, and not let in again")
    fifo.write_text("")  # its task ends now, and nobody believes what comes of it
    reasons = [r["text"] for r in duly.json("why", instance)["reasons"]]
    assert any("its agent was removed" in text for text in reasons), reasons
    before = log.read_text().count("removed")
    eventually(lambda: log.read_text().count("removed") >= before, "it tries on")
    assert duly.json("instance", "show", instance)["state"] == "running"
    duly.run("instance", "resolve", instance, "lost", check=True)
    doomed.kill()


@one_server
def test_harden_sees_what_is_left_open(fresh):
    key = fresh.root / "key"
    key.write_text(base64.b64encode(os.urandom(32)).decode())
    key.chmod(0o644)
    fresh.setup().up("--agent-plain", "--secret-key-file", key)
    eventually(fresh.agent_online, "the local agent is online")
    fresh.run("tenant", "create", "acme", "--private-network", "true", check=True)
    found = lambda: {f["id"]: f["seen"] for f in json.loads(fresh.run("harden", "--json").stdout)["findings"]}
    seen = eventually(lambda: "private-networks" in found() and found(), "the tenant is known")
    local = fresh.json("agents", "list")["items"][0]["name"]
    assert seen["agents-without-policy"] == local and seen["agents-plain"].startswith("127.0.0.1:")
    assert seen["private-networks"] == "acme" and seen["keys-open"] == f"{key} has mode 644"
    assert ("runs-as-root" in seen) == (os.geteuid() == 0)

    # Mended one by one; what is mended is not said any more.
    fresh.stop_politely()
    fresh.kill_agent()
    key.chmod(0o600)
    policy = fresh.root / "agent.toml"
    policy.write_text("[allow]\ntasks = ['http']\n")
    fresh.up("--private-networks", "none", "--secret-key-file", key, "--agent-policy", policy)
    eventually(fresh.agent_online, "the local agent is online again")
    assert not {"agents-without-policy", "agents-plain", "private-networks", "keys-open"} & set(found())
