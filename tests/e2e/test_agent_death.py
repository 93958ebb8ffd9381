"""Agents die, are upgraded and come back while tasks run; and what a task is given and gives back along the way."""

import http.server
import os
import shutil
import signal
import subprocess
import threading

import pytest

from harness import BIN, alive, eventually

LONG = """overlap: allow
sh: |
  echo "$DULY_INSTANCE_ID start" >> {trace}
  echo begun
  while [ ! -e {gate} ]; do sleep 0.1; done
  echo "::duly gate=open"
  echo "$DULY_INSTANCE_ID end" >> {trace}
"""


def begin_long(duly, tmp_path, name, count=3):
    trace, gate = tmp_path / "trace", tmp_path / "gate"
    duly.apply(f"job: {name}\n" + LONG.format(trace=trace, gate=gate))
    ids = [duly.trigger(name) for _ in range(count)]
    eventually(lambda: trace.exists() and len(trace.read_text().splitlines()) == count, "all of them run")
    return ids, trace, gate


def assert_each_ran_once(duly, ids, trace):
    for instance in ids:
        seen = duly.ended(instance)
        assert (seen["state"], seen["attempt_no"], seen["outputs"]) == ("succeeded", 1, {"gate": "open"}), seen
        assert len(duly.json("instance", "attempts", instance)["items"]) == 1
    lines = sorted(trace.read_text().splitlines())
    assert lines == sorted(f"{i} {what}" for i in ids for what in ("start", "end"))


def test_tasks_outlive_a_killed_agent(shared, tmp_path):
    ids, trace, gate = begin_long(shared, tmp_path, "outlives")
    before = shared.agent_pid()
    shared.kill_agent()
    eventually(shared.agent_pid, "another agent was started")
    eventually(shared.agent_online, "it is online")
    assert shared.agent_pid() != before
    for instance in ids:
        shared.wait_state(instance, "running")
    gate.touch()
    assert_each_ran_once(shared, ids, trace)


def test_tasks_that_end_without_an_agent_are_told_by_the_next(shared, tmp_path):
    """The end comes while there is no agent: frozen, it cannot look; killed, it never did."""
    ids, trace, gate = begin_long(shared, tmp_path, "ends_alone")
    pid = shared.agent_pid()
    os.kill(pid, signal.SIGSTOP)
    gate.touch()
    eventually(lambda: trace.read_text().count("end") == len(ids), "all have ended unseen")
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not alive(pid) and shared.agent_pid(), "another agent was started")
    assert_each_ran_once(shared, ids, trace)


def test_an_agent_is_upgraded_under_running_tasks(shared, tmp_path):
    """Ended politely and started anew, as an upgrade does: the same as a kill, to the tasks."""
    ids, trace, gate = begin_long(shared, tmp_path, "upgraded")
    before = shared.agent_pid()
    os.kill(before, signal.SIGTERM)
    eventually(lambda: not alive(before) and shared.agent_pid() != before, "the new agent has taken over")
    gate.touch()
    assert_each_ran_once(shared, ids, trace)


def test_a_second_agent_is_refused_by_pid(shared):
    home = shared.data / "agent"
    second = shared.run("agent", "--data", home, "--server-file", shared.data / "agent-endpoint", timeout=20)
    assert second.returncode != 0
    assert str(shared.agent_pid()) in second.stderr


def test_a_log_is_readable_when_its_agent_is_gone(shared):
    agent = shared.join_agent("passing")
    try:
        eventually(lambda: shared.online("passing"), "the agent has joined")
        instance = shared.apply_and_trigger("leaves_words", "pool: { route: { fixed: passing } }\nsh: echo last words; echo to stderr >&2")
        assert shared.ended(instance)["agent"] == "passing"
        eventually(lambda: "last words" in shared.run("log", instance).stdout, "its log was shipped")
    finally:
        agent.kill()
        agent.wait()
    shutil.rmtree(shared.root / "data-agents" / "passing")
    eventually(lambda: not shared.online("passing"), "the agent is missed")
    log = shared.run("log", instance, check=True).stdout
    assert "last words\n" in log and "to stderr\n" in log
    shared.run("agents", "remove", "passing", "--yes", check=True)
    assert "last words" in shared.run("log", instance, check=True).stdout


# ---- what a task is given and gives back


def environment_of(log: str) -> dict:
    return dict(line.split("=", 1) for line in log.splitlines() if "=" in line and not line.startswith("::"))


def test_the_environment_is_empty_but_for_what_is_named(shared):
    instance = shared.apply_and_trigger("environment", """params: { region: east, rows: 5 }
env: { GREETING: hello }
command: [env]
""")
    assert shared.ended(instance)["state"] == "succeeded"
    seen = environment_of(eventually(lambda: shared.run("log", instance, check=True).stdout, "its log"))
    assert seen.pop("GREETING") == "hello"
    assert seen.pop("DULY_PARAM_REGION") == "east" and seen.pop("DULY_PARAM_ROWS") == "5"
    assert seen.pop("DULY_INSTANCE_ID") == str(instance) == seen.pop("DULY_IDEMPOTENCY_KEY")
    assert seen.pop("DULY_FENCE") == seen.pop("DULY_ATTEMPT_ID")
    assert seen.pop("DULY_PLANNED_AT") == shared.json("instance", "show", instance)["planned_at"]
    left = {name for name in seen if not name.startswith("DULY_")}
    assert left <= {"PATH"}, f"the agent's own environment leaks: {left}"
    assert "DULY_TOKEN" not in seen and "DULY_URL" not in seen


def test_parameters_reach_arguments_and_results_come_back(shared):
    shared.apply("""job: with_arguments
params: { day: monday }
python:
  args: ["--day=${day}", "plain"]
  source: |
    import os, sys
    print(sys.argv[1:])
    print("::duly rows=7")
    print("::duly-message seven rows of " + os.environ["DULY_PARAM_DAY"])
""")
    seen = shared.ended(shared.trigger("with_arguments", "--param", "day=tuesday; rm -rf /"))
    assert seen["outputs"] == {"rows": "7"}
    assert seen["message"] == "seven rows of tuesday; rm -rf /"
    log = eventually(lambda: shared.run("log", seen["id"], check=True).stdout, "its log")
    assert "['--day=tuesday; rm -rf /', 'plain']" in log
    assert seen["usage"]["cpu_us"] > 0 and seen["usage"]["peak_kb"] > 0


@pytest.mark.parametrize("language, program, source, words", [
    ("sh", "sh", "echo from $DULY_JOB", "from in_sh"),
    ("python", "python3", "import os; print('from', os.environ['DULY_JOB'])", "from in_python"),
    ("node", "node", "console.log('from', process.env.DULY_JOB)", "from in_node"),
    ("php", "php", "<?php echo 'from ' . getenv('DULY_JOB');", "from in_php"),
    ("powershell", "pwsh", "Write-Output \"from $env:DULY_JOB\"", "from in_powershell"),
])
def test_scripts_run_or_are_refused_clearly(shared, language, program, source, words):
    instance = shared.apply_and_trigger(f"in_{language}", f"{language}: |\n  {source}")
    seen = shared.ended(instance, within=60)
    if shutil.which(program, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"):
        assert seen["state"] == "succeeded", seen
        eventually(lambda: words in shared.run("log", instance, check=True).stdout, f"the log says {words!r}")
    elif not shutil.which(program):
        assert (seen["state"], seen["reason"]) == ("failed", "refused")
        assert f"no {program} in its path" in seen["message"]


def test_invalid_utf8_survives(shared):
    instance = shared.apply_and_trigger("odd_bytes", r"sh: printf 'caf\351 \377\376\000 \033[31mred\033[0m\n'")
    assert shared.ended(instance)["state"] == "succeeded"
    raw = eventually(lambda: shared.api("GET", f"/instances/{instance}/log").content, "its log")
    assert raw == b"caf\xe9 \xff\xfe\x00 \x1b[31mred\x1b[0m\n"


def test_a_long_log_is_cut_with_a_mark(shared):
    instance = shared.apply_and_trigger("talks_much", "log: { max_lines: 100 }\nsh: seq 1 100000")
    assert shared.ended(instance)["state"] == "succeeded"
    log = eventually(lambda: shared.run("log", instance, check=True).stdout, "its log")
    assert log.startswith("1\n2\n3\n") and "\n100\n" in log and "\n50000\n" not in log
    assert len(log) < 1000 and any(not line.isdigit() for line in log.splitlines()), "the cut is not marked"


def test_a_log_is_followed_while_the_task_runs(shared, tmp_path):
    gate = tmp_path / "gate"
    instance = shared.apply_and_trigger("live", f"sh: |\n  echo first\n  while [ ! -e {gate} ]; do sleep 0.05; done\n  echo last\n")
    tail = subprocess.Popen([BIN, "log", "-f", str(instance)], stdout=subprocess.PIPE,
                            env={**shared.env, "DULY_URL": shared.url, "DULY_TOKEN": shared.token_file.read_text()})
    try:
        assert tail.stdout.readline() == b"first\n"
        assert shared.wait_state(instance, "running")["ended_at"] is None
        gate.touch()
        assert tail.stdout.readline() == b"last\n"
        assert tail.wait(timeout=30) == 0
    finally:
        gate.touch()
        tail.kill()
        tail.wait()


# ---- HTTP tasks


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        wanted = {"/well": (200, "all is well"), "/gone": (410, "gone")}
        if self.path == "/leads_on":
            return self.answer(302, "", location="/well")
        if self.path == "/leads_astray":
            return self.answer(302, "", location="http://169.254.169.254/latest/meta-data")
        return self.answer(*wanted.get(self.path, (404, "not here")))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.answer(201, f"{self.headers.get('x-kind')} {body.decode()}")

    def answer(self, status, text, location=None):
        self.send_response(status)
        if location:
            self.send_header("location", location)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize("name, call, state, says", [
    ("plain", '"{site}/well"', "succeeded", ""),
    ("other_status", '"{site}/gone"', "failed", "410"),
    ("wanted_status", '{{ url: "{site}/gone", expect_status: ["410"] }}', "succeeded", ""),
    ("wanted_body", '{{ url: "{site}/well", expect_body: is well }}', "succeeded", ""),
    ("other_body", '{{ url: "{site}/well", expect_body: is lost }}', "failed", "is lost"),
    ("posted", '{{ url: "{site}/", method: POST, headers: {{ x-kind: note }}, body: "a b", expect_status: ["200-201"], expect_body: note a b }}',
     "succeeded", ""),
    ("redirect_unasked", '"{site}/leads_on"', "failed", "302"),
    ("redirect", '{{ url: "{site}/leads_on", redirects: 2, expect_body: is well }}', "succeeded", ""),
    ("redirect_forbidden", '{{ url: "{site}/leads_astray", redirects: 2 }}', "failed", "E0981: 169.254.169.254"),
    ("forbidden", '"http://169.254.169.254/latest"', "failed", "E0981: 169.254.169.254"),
    ("nobody_there", '"http://127.0.0.1:1/"', "failed", "127.0.0.1:1"),
])
def test_http_calls(shared, site, name, call, state, says):
    instance = shared.apply_and_trigger(f"call_{name}", f"timeout: 20s\nhttp: {call.format(site=site)}")
    seen = shared.ended(instance)
    assert seen["state"] == state and says in (seen.get("message") or ""), seen
