"""Real processes for the end-to-end tests: a server with its agent in a directory of its own, and the command line.

Waits for facts, never for time: every wait has a question, an answer, and a last moment at which it gives up loudly.
"""

import base64
import functools
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import threading
import time

import pytest
import requests

from postgres import fresh_database

BIN = os.environ.get("DULY_BIN", str(pathlib.Path(__file__).parents[2] / "target/debug/duly"))
SOAK = bool(os.environ.get("DULY_SOAK"))
# Every installation keeps everything in PostgreSQL: the whole suite once more, on the other store. As a cluster it has two more
# servers beside the one that is asked, so that most of what a test does is done by another.
AS_CLUSTER = os.environ.get("DULY_TEST_STORE") == "cluster"
ON_POSTGRES = AS_CLUSTER or os.environ.get("DULY_TEST_STORE") == "postgres"
one_server = pytest.mark.skipif(AS_CLUSTER, reason="it is about what one server remembers or says, or what is missed while it is dead")
embedded = pytest.mark.skipif(ON_POSTGRES, reason="it is about the file of the embedded store, or about this machine's clock")
PASSWORD = "correct horse battery"
# What one server of several is told for itself: where it listens, what it is called, what its own agent may do.
OF_ONE_SERVER = ("--agent-", "--api-address", "--cgroup", "--data", "--listen", "--name", "--peer-", "--slots")


def of_all_servers(told: list[str]) -> list[str]:
    """Of a command's flags, with their values, those that every server of an installation must be given alike."""
    kept, keeps = [], False
    for word in told:
        if word.startswith("--"):
            keeps = not word.startswith(OF_ONE_SERVER)
        kept += [word] if keeps else []
    return kept


def new_key() -> str:
    """One that secrets can be kept under."""
    return base64.b64encode(os.urandom(32)).decode()


def free_port() -> int:
    """Below those that connections are given, so that none of them has it when a killed server wants it back."""
    while True:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass  # somebody has it


def eventually(question, what: str, within: float = 30.0, every: float = 0.05):
    """Asks until the answer is true; returns it."""
    last, end = None, time.monotonic() + within
    while time.monotonic() < end:
        try:
            last = question()
            if last:
                return last
        except (AssertionError, OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
            last = error
        time.sleep(every)
    raise AssertionError(f"never happened within {within} s: {what}; last seen: {last!r}")


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Duly:
    """One installation: a data directory, a port, and the processes that use them."""

    def __init__(self, root: pathlib.Path, slots: int = 64, env: dict | None = None):
        self.root, self.data = root, root / "data"
        self.port, self.slots = free_port(), slots
        self.url = f"http://127.0.0.1:{self.port}"
        self.server: subprocess.Popen | None = None
        self.beside: list[subprocess.Popen] = []
        self.env = {**os.environ, **(env or {})}
        if ON_POSTGRES and "DULY_STORE" not in self.env:
            # A server makes a key of its own only for a store of its own.
            self.env |= {"DULY_STORE": fresh_database(), "DULY_SECRET_KEY": new_key()}
        self.token_file = root / "token"
        self.starts = 0
        # What is started and called: another than ours where two versions meet.
        self.bin = BIN

    # ---- processes

    def setup(self):
        (self.root / "password").write_text(PASSWORD + "\n")
        self.run("setup", "--data", self.data, "--admin", "ada", "--password-file", self.root / "password",
                 "--token-out", self.token_file, check=True)
        return self

    def up(self, *more, wait: bool = True, wrap: list | None = None, env: dict | None = None):
        self.starts += 1
        log = open(self.root / f"server-{self.starts}.log", "wb")
        command = [*(wrap or []), self.bin, "up", "--data", str(self.data), "--listen", f"127.0.0.1:{self.port}",
                   "--slots", str(self.slots), *map(str, more)]
        self.server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env={**self.env, **(env or {})},
                                       start_new_session=True)
        if wait:
            eventually(self.is_ready, f"the server is ready; its words:\n{self.log_tail()}", within=60)
            if AS_CLUSTER and not self.beside:
                self.start_beside(list(map(str, more)))
        return self

    def start_beside(self, told: list[str]):
        """Two more servers, which are given their share and stay whatever becomes of the first. How they behave is told to all."""
        for name in ("beside-1", "beside-2"):
            log = open(self.root / f"{name}.log", "ab")
            ports = [word for flag in ("--listen", "--agent-listen", "--peer-listen") for word in (flag, "127.0.0.1:0")]
            command = [self.bin, "server", "--data", str(self.data.parent / f"{self.data.name}-{name}"), "--name", name, *ports, *of_all_servers(told)]
            self.beside.append(subprocess.Popen(command, stdout=log, stderr=log, env=self.env, start_new_session=True))
        spread = lambda: min(s["shards"] for s in self.api("GET", "/cluster").json()["servers"]) > 20
        eventually(lambda: len(self.api("GET", "/cluster").json()["servers"]) == 3 and spread(), "each has its share", within=60)

    def is_ready(self):
        if self.server and self.server.poll() is not None:
            raise RuntimeError(f"the server ended with {self.server.returncode}:\n{self.log_tail()}")
        return self.run("health").returncode == 0

    def log_tail(self, lines: int = 30) -> str:
        logs = sorted(self.root.glob("server-*.log"), key=lambda p: p.stat().st_mtime)
        return "\n".join(logs[-1].read_text(errors="replace").splitlines()[-lines:]) if logs else ""

    def server_pid(self) -> int:
        return int((self.data / "server.lock").read_text())

    def agent_pid(self) -> int:
        pid = int((self.data / "agent" / "lock").read_text())
        assert alive(pid), f"agent {pid} is dead"
        return pid

    def kill_server(self):
        os.kill(self.server_pid(), signal.SIGKILL)
        self.server.wait()

    def kill_agent(self):
        pid = self.agent_pid()
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not alive(pid), "the agent is dead")

    def stop_politely(self) -> int:
        """As a person stops it; what it answers."""
        self.server.terminate()
        return self.server.wait(timeout=30)

    def restart(self, *more):
        """Every server of the installation, as a person does it who has changed a setting."""
        for other in self.beside:
            other.terminate()
        for other in self.beside:
            assert other.wait(timeout=30) == 0
        self.beside.clear()
        assert self.stop_politely() == 0
        return self.up(*more)

    def stop(self):
        """Ends everything that belongs to this installation, tasks included, at once: nothing of it is needed again."""
        for other in self.beside:
            other.kill()
            other.wait()
        if self.server and self.server.poll() is None:
            self.server.kill()
            self.server.wait()
        mark = str(self.data).encode()
        for proc in pathlib.Path("/proc").iterdir():
            if proc.name.isdigit() and int(proc.name) != os.getpid():
                try:
                    if mark in (proc / "cmdline").read_bytes():
                        os.kill(int(proc.name), signal.SIGKILL)
                except (FileNotFoundError, ProcessLookupError, PermissionError):
                    pass
        self.leave_cgroups()

    def leave_cgroups(self):
        """What agents that were killed left of their groups; best effort, for those still dying keep them."""
        for agent in [self.data / "agent", *(self.root / "data-agents").glob("*")]:
            if (home := cgroups()) and agent.exists():
                group = home / f"duly-{agent.stat().st_ino}"
                for one in [*group.glob("attempt-*"), group]:
                    try:
                        one.rmdir()
                    except OSError:
                        pass

    def join_agent(self, name: str, *more, server: str | None = None) -> subprocess.Popen:
        """One more agent on this machine, in a directory of its own, with a one-time token of its own."""
        home = self.root / "data-agents" / name
        home.mkdir(parents=True, exist_ok=True)
        token = self.root / f"join-{name}"
        if not token.exists():
            token.write_text(self.json("join-token")["token"])
        command = [BIN, "agent", "--data", home, "--server", server or (self.data / "agent-endpoint").read_text(),
                   "--name", name, "--join-token-file", token, *more]
        log = open(self.root / f"agent-{name}.log", "ab")
        return subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, env=self.env, start_new_session=True)

    def online(self, *names) -> bool:
        return set(names) <= {a["name"] for a in self.json("agents", "list")["items"] if a["state"] == "online"}

    # ---- the API, where the command line is not what is asked about

    def api(self, method: str, path: str, token: str | None = "", **more) -> requests.Response:
        """Token: ours if left out, none if None."""
        headers = dict(more.pop("headers", {}))
        if token is not None:
            headers["Authorization"] = f"Bearer {token or self.token_file.read_text()}"
        return requests.request(method, self.url + "/api/v1" + path, headers=headers, timeout=more.pop("timeout", 60), **more)

    def everywhere(self, path: str) -> list[requests.Response]:
        """What each server of the installation says to it."""
        if not self.beside:
            return [self.api("GET", path)]
        ours = {"Authorization": f"Bearer {self.token_file.read_text()}"}
        servers = self.api("GET", "/cluster").json()["servers"]
        return [requests.get(f"{server['api']}/api/v1{path}", headers=ours, timeout=60) for server in servers]

    # ---- the command line

    def run(self, *args, check: bool = False, stdin: str | None = None, timeout: float = 120):
        env = dict(self.env, DULY_URL=self.url)
        if self.token_file.exists():
            env["DULY_TOKEN"] = self.token_file.read_text()
        done = subprocess.run([self.bin, *map(str, args)], capture_output=True, text=True, env=env, input=stdin, timeout=timeout)
        if check and done.returncode != 0:
            raise AssertionError(f"duly {' '.join(map(str, args))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    def json(self, *args):
        return json.loads(self.run(*args, "--json", check=True).stdout)

    def apply(self, text: str):
        path = self.root / f"jobs-{time.monotonic_ns()}.yaml"
        path.write_text(text)
        return self.run("job", "apply", "-f", path, "--yes", check=True)

    def instances(self, job: str | None = None, **filters) -> list:
        """All of them, newest first, however many pages that takes."""
        items, cursor = [], None
        while True:
            args = ["instance", "list", "--limit", "500"]
            args += ["--job", job] if job else []
            for key, value in filters.items():
                args += [f"--{key}", str(value)]
            args += ["--cursor", cursor] if cursor else []
            page = self.json(*args)
            items += page["items"]
            cursor = page["next"]
            if not cursor:
                return items

    def wait_state(self, instance: int, *states: str, within: float = 30) -> dict:
        def look():
            seen = self.json("instance", "show", instance)
            return seen if seen["state"] in states else None
        return eventually(look, f"instance {instance} is {' or '.join(states)}", within)

    def ended(self, instance: int, within: float = 30) -> dict:
        return self.wait_state(instance, "succeeded", "warned", "failed", "dead", "skipped", "stopped", "forced", within=within)

    def trigger(self, job: str, *more) -> int:
        return self.json("job", "trigger", job, *more)["id"]

    def apply_and_trigger(self, job: str, body: str) -> int:
        """A job of the file's keys, and an instance of it."""
        self.apply(f"job: {job}\n{body}\n")
        return self.trigger(job)

    def verify(self) -> dict:
        done = self.run("verify", "--json")
        assert done.returncode in (0, 6), done.stderr
        return json.loads(done.stdout)

    def agent_online(self):
        return any(a["state"] == "online" for a in self.json("agents", "list")["items"])


class Events:
    """Everything an installation says happened, from now on, gathered beside the test."""

    def __init__(self, duly: Duly):
        self.seen: list[dict] = []
        self.enough = False
        self.answer = duly.api("GET", "/events", stream=True, timeout=(10, None))
        threading.Thread(target=self._gather, daemon=True).start()

    def _gather(self):
        try:
            for line in self.answer.iter_lines(chunk_size=1):
                if self.enough:
                    return self.answer.close()
                if line.startswith(b"data:"):
                    self.seen.append(json.loads(line[5:]))
        except (requests.RequestException, AttributeError, ValueError):
            pass  # the server went away, or the test ended

    def wait(self, kind: str, within: float = 30, **what) -> dict:
        def look():
            return next((e for e in self.seen if e["kind"] == kind and all(e.get(k) == v for k, v in what.items())), None)
        return eventually(look, f"event {kind} {what}", within)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Closing it from here would wait for the next line; the thread sees this with that line and closes it itself.
        self.enough = True


def seconds(stamp: str) -> int:
    """The whole second an RFC 3339 time names."""
    import datetime
    return int(datetime.datetime.fromisoformat(re.sub(r"Z$", "+00:00", stamp)).timestamp())


@functools.cache
def cgroups() -> pathlib.Path | None:
    """Where this process may make groups of cgroup v2, if anywhere."""
    mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
    root = next((pathlib.Path(where) for _, where, kind, *_ in mounts if kind == "cgroup2"), None)
    own = [line[3:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")]
    if root is None or not own:
        return None
    home = root / own[0].lstrip("/")
    probe = home / f"duly-probe-{os.getpid()}"
    try:
        probe.mkdir()
        works = (probe / "cgroup.kill").exists()
        probe.rmdir()
    except OSError:
        return None
    return home if works else None
