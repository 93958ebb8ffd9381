"""Several servers on one PostgreSQL, and agents that dial all of them. Each process can be killed, paused and started
again by itself; `trace` is what the tasks themselves wrote down, whoever ordered them."""

import os
import pathlib
import signal
import subprocess
import time

import checker
from checker import Run
from harness import BIN, Duly, eventually, free_port
from postgres import Postgres

# Times that tests measured, printed when all are done. What a busy machine makes of them is judged by the bench.
FIGURES: list[str] = []
# What was left out, and how to have it.
NOT_TESTED: list[str] = []


class Node(Duly):
    """One server of the cluster: the harness's installation, without an agent of its own."""

    def __init__(self, root: pathlib.Path, name: str, env: dict, token_file: pathlib.Path, place=None):
        root.mkdir(parents=True, exist_ok=True)
        super().__init__(root, env=env)
        self.name, self.token_file, self.place = name, token_file, place
        self.host = place.host if place else "127.0.0.1"
        self.url = f"http://{self.host}:{self.port}"
        self.agent_port, self.peer_port = free_port(), free_port()
        # Where agents and other servers are told to call it, if elsewhere than where it listens.
        self.agent_address, self.addresses = None, []
        self.paused = False

    def start(self, *more, wait: bool = True, wrap: list | None = None, env: dict | None = None):
        self.starts += 1
        log = open(self.root / f"server-{self.starts}.log", "wb")
        inside = self.place.inside if self.place else []
        command = [*inside, *(wrap or []), self.bin, "server", "--data", str(self.data), "--name", self.name,
                   "--listen", f"{self.host}:{self.port}", "--agent-listen", f"{self.host}:{self.agent_port}", "--agent-tls",
                   "--peer-listen", f"{self.host}:{self.peer_port}", *self.addresses, *map(str, more)]
        self.server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env={**self.env, **(env or {})},
                                       start_new_session=True)
        if wait:
            eventually(self.is_ready, f"{self.name} is ready; its words:\n{self.log_tail()}", within=60)
        return self

    @property
    def agent_endpoint(self) -> str:
        return f"https://{self.agent_address or f'{self.host}:{self.agent_port}'}"

    def send(self, what: signal.Signals):
        self.paused = what == signal.SIGSTOP or (self.paused and what != signal.SIGCONT)
        os.kill(self.server.pid, what)

    def kill(self):
        self.send(signal.SIGKILL)
        self.server.wait()
        self.paused = False

    def view(self) -> dict:
        return self.api("GET", "/cluster").json()


class Cluster:
    def __init__(self, root: pathlib.Path, short: pathlib.Path, servers: int = 3, lease_ms: int = 4000, network=None, bin: str = BIN, prepare=None,
                 database=Postgres):
        """`short` is a directory with a short path, because the database's socket lies in it. With a network each process has
        a place of its own there, by its name; the database's is `db`. `prepare` is done to each server before it starts;
        `database` makes what they share."""
        self.root, self.network, self.bin, self.prepare = root, network, bin, prepare
        self.database = database(short / "pg", self.place("db")).start()
        self.env = {"DULY_STORE": self.database.address, "DULY_LEASE_MS": str(lease_ms)}
        self.lease = lease_ms / 1000
        self.token_file = root / "token"
        self.nodes = [self.node(f"s{n + 1}") for n in range(servers)]
        self.agents: dict[str, subprocess.Popen] = {}
        self.traces = root / "trace"
        self.traces.mkdir()
        first = self.nodes[0]
        (root / "password").write_text("correct horse battery\n")
        try:
            first.run("setup", "--data", first.data, "--admin", "ada", "--password-file", root / "password", "--token-out",
                      self.token_file, check=True)
        except AssertionError:
            self.database.stop()
            raise

    def place(self, name: str):
        return self.network.join(name) if self.network else None

    def node(self, name: str, env: dict | None = None) -> Node:
        node = Node(self.root / name, name, {**self.env, **(env or {})}, self.token_file, self.place(name))
        node.bin = self.bin
        if self.prepare:
            self.prepare(self, node)
        return node

    def start(self):
        for node in self.nodes:
            node.start(wait=False)
        for node in self.nodes:
            eventually(node.is_ready, f"{node.name} is ready; its words:\n{node.log_tail()}", within=60)
        self.settled()
        return self

    @property
    def first(self) -> Node:
        return self.nodes[0]

    def living(self) -> list[Node]:
        """Those that can be asked."""
        return [node for node in self.nodes if node.server and node.server.poll() is None and not node.paused]

    def join_agent(self, name: str, *more, bin: str | None = None):
        """Dials all servers; known to the one that gave it its token, and by that to all."""
        home = self.root / "agents" / name
        home.mkdir(parents=True, exist_ok=True)
        token = self.root / f"join-{name}"
        if not token.exists():
            token.write_text(self.living()[0].json("join-token")["token"])
        seeds = [word for node in self.nodes for word in ("--server", node.agent_endpoint)]
        place = self.place(name)
        command = [*(place.inside if place else []), bin or self.bin, "agent", "--data", home, *seeds, "--name", name, "--join-token-file", token, *more]
        log = open(self.root / f"agent-{name}.log", "ab")
        self.agents[name] = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, start_new_session=True)

    def online(self, *names) -> bool:
        """At every server: each gives orders itself."""
        return all(node.online(*names) for node in self.living())

    # ---- who owns what

    def owners(self, by: Node | None = None) -> dict[int, int | None]:
        return {shard["id"]: shard.get("server") for shard in (by or self.living()[0]).view()["shards"]}

    def id_of(self, node: Node) -> int:
        return next(s["id"] for s in self.living()[0].view()["servers"] if s["name"] == node.name)

    def terms(self) -> list[int]:
        """One per shard; each take-over and each hand-over raises one."""
        return [shard["term"] for shard in self.living()[0].view()["shards"]]

    def shards_of_jobs(self) -> dict[str, int]:
        """Each job's shard, worked out from its number as the servers do."""
        def mix(number: int) -> int:
            z = (number + 0x9E3779B97F4A7C15) % 2**64
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
            z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
            return z ^ z >> 31
        # Those of tenants that have shards of their own say theirs.
        rows = self.database.run("select name, id from job where shard < 64").splitlines()
        shards = sum(shard < 64 for shard in self.owners())
        return {name: mix(int(id)) % shards for name, id in (row.rsplit("|", 1) for row in rows)}

    def share(self, node: Node) -> int:
        mine = self.id_of(node)
        return sum(owner == mine for owner in self.owners().values())

    def settled(self, within: float = 30):
        """Everything is owned by somebody alive, run there, and spread evenly over those who take it."""
        def look():
            view = self.living()[0].view()
            takers = [s for s in view["servers"] if s["state"] == "alive" and s["weight"] > 0]
            seen = {s["name"] for s in view["servers"] if s["state"] != "dead"}
            assert seen == {node.name for node in self.living()}, f"there: {seen}"
            held = {shard.get("server") for shard in view["shards"]}
            assert held <= {s["id"] for s in takers}, f"owners: {held}"
            total = sum(s["weight"] for s in takers)
            shares = {s["name"]: s["shards"] for s in takers}
            assert all(abs(s["shards"] - len(view["shards"]) * s["weight"] / total) < 1 for s in takers), f"shares: {shares}"
            running = {node.name: len(node.api("GET", "/health", token=None).json()["shards"]) for node in self.living()}
            assert running == {s["name"]: s["shards"] for s in view["servers"] if s["state"] != "dead"}, f"run {running}, owned {shares}"
            return view
        return eventually(look, "every shard is owned and run, and the shares are even", within)

    # ---- what the tasks saw

    def task(self, work: str = ":") -> str:
        """A shell task that writes down when it began and ended, and does `work` in between."""
        return checker.task(self.traces, work)

    def trace(self, job: str) -> list[Run]:
        """In the order they began."""
        return checker.read(self.traces / job)

    def stop(self):
        for node in self.nodes:
            node.stop()
        for agent in self.agents.values():
            agent.kill()
            agent.wait()
        mark = str(self.root).encode()
        for proc in pathlib.Path("/proc").iterdir():
            if proc.name.isdigit() and int(proc.name) != os.getpid():
                try:
                    if mark in (proc / "cmdline").read_bytes():
                        os.kill(int(proc.name), signal.SIGKILL)
                except (FileNotFoundError, ProcessLookupError, PermissionError):
                    pass
        self.database.stop()


def until(moment: float):
    time.sleep(max(0.0, moment - time.time()))


def figure(what: str, values: list[float]) -> float:
    """Writes down how the values (seconds) are spread; the 95th of a hundred of them."""
    values = sorted(values)
    middle, high = values[len(values) // 2], values[min(len(values) - 1, int(len(values) * 0.95))]
    FIGURES.append(f"{what}: median {middle * 1000:.0f} ms, p95 {high * 1000:.0f} ms, longest {values[-1] * 1000:.0f} ms, of {len(values)}")
    return high
