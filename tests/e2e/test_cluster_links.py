"""A cluster whose ways are slow, uneven and broken: between servers and their database, between servers, between agents and
servers. Runs stay exactly once, nothing overlaps, and an agent that one server cannot reach works for the others."""

import time

from cluster import Cluster, Node, figure
from cluster_load import Kind, Load
from harness import SOAK, eventually, seconds

# Seconds each way, and up to so much more. A decision waits for the database several times, for an agent once.
SLOW, JITTER = 0.2, 0.1
DATABASE, DATABASE_JITTER = 0.02, 0.02
PLAIN = Kind("plain", "overlap: allow", 12, alone=False)
QUEUED = Kind("queued", "overlap: queue", 4, 3, "sleep 0.3")
ALONE = Kind("waits", "exclusive: wait", 4, 3, "sleep 0.3")


class Ways:
    """Every server is reached, and reaches its database, by a way of its own."""

    def __init__(self, links):
        self.links, self.of = links, {}

    def slow_down(self, slow: bool = True):
        for ways in self.of.values():
            for what, way in ways.items():
                delay, jitter = (DATABASE, DATABASE_JITTER) if what == "db" else (SLOW, JITTER)
                way.delay, way.jitter = slow * delay, slow * jitter

    def all(self) -> list:
        return [way for ways in self.of.values() for way in ways.values()]

    def prepare(self, cluster: Cluster, node: Node):
        to = {"db": cluster.database.root / ".s.PGSQL.5432", "peers": node.peer_port, "agents": node.agent_port}
        ways = self.of[node.name] = {what: self.links.to(target) for what, target in to.items()}
        node.env["DULY_STORE"] = f"postgres://duly@{ways['db'].address}/postgres?sslmode=disable"
        node.agent_address = ways["agents"].address
        node.addresses = ["--agent-address", ways["agents"].address, "--peer-address", ways["peers"].address]


def test_slow_ways_that_break_lose_and_double_nothing(make, links):
    ways = Ways(links)
    cluster = make(servers=3, prepare=ways.prepare)
    load = Load(cluster, empty=60, kinds=[PLAIN, QUEUED, ALONE]).start()
    ways.slow_down()
    slow = int(time.time()) + 1
    for round in range(20 if SOAK else 1):
        for number, what in enumerate(("db", "agents", "peers")):
            ways.of[cluster.nodes[(number + round) % 3].name][what].snap()
            since = int(time.time())
            eventually(lambda: load.caught_up(since + 1), f"all go on after the way of {what} broke", within=60)
    runs = [run for name in load.jobs if name.startswith("plain") for run in cluster.trace(name)]
    ways.slow_down(False)
    load.judge()
    late = [run.start - seconds(run.planned) for run in runs if seconds(run.planned) > slow]
    figure(f"start after the planned time with {SLOW * 1000:.0f} to {(SLOW + JITTER) * 1000:.0f} ms each way to agents", late)
    assert min(late) > SLOW, "everything went by a slow way"


def test_an_agent_that_one_server_cannot_reach_works_for_the_others(make, links):
    """That server's jobs wait, what it had begun is in doubt and not lost, and both go on as soon as its shards are moved."""
    ways = Ways(links)
    cluster = make(servers=3, prepare=ways.prepare)
    flag = cluster.root / "go"
    cluster.first.apply("\n---\n".join(f'job: long-{n}\nsh: "while [ ! -e {flag} ]; do sleep 0.1; done"' for n in range(12)))
    load = Load(cluster, empty=60, kinds=[PLAIN, QUEUED, ALONE]).start()
    lonely, other = cluster.nodes[2], cluster.nodes[0]
    mine, owners, shards = cluster.id_of(lonely), cluster.owners(), cluster.shards_of_jobs()
    there = {name for name, shard in shards.items() if owners[shard] == mine}
    long = other.trigger(next(name for name in there if name.startswith("long")))
    other.wait_state(long, "running")
    ways.of[lonely.name]["agents"].cut()
    cut = int(time.time())

    def ran(names, since: int) -> bool:
        return all(any(seconds(run.planned) > since for run in cluster.trace(name)) for name in names)
    elsewhere = [name for name in load.jobs if name not in there]
    eventually(lambda: ran(elsewhere, cut + 3), "the jobs of other servers run on")
    waiting = [name for name in load.jobs if name in there]
    assert waiting and not any(ran([name], cut + 1) for name in waiting), "it cannot order anything"
    other.run("cluster", "drain", lonely.name, check=True)
    eventually(lambda: ran(waiting, cut + 4), "the others order what waited")
    flag.touch()
    assert other.ended(long)["state"] == "succeeded", "the agent tells whoever has the job now"
    ways.of[lonely.name]["agents"].heal()
    other.run("cluster", "undrain", lonely.name, check=True)
    eventually(lambda: cluster.online("box-1"), "the agent is back everywhere")
    cluster.settled()
    load.judge()


def test_an_agent_revoked_at_one_server_is_cut_off_at_all(make):
    """It was connected to each of them; afterwards none believes it, and none sends it anything."""
    cluster = make(servers=3)
    cluster.join_agent("doomed", "--pool", "doomed")
    eventually(lambda: cluster.online("doomed"), "every server has it online")
    number = next(a["id"] for a in cluster.first.json("agents", "list")["items"] if a["name"] == "doomed")
    cluster.nodes[2].run("agents", "revoke", number, "--yes", check=True)
    there = lambda node: [a for a in node.json("agents", "list")["items"] if a["name"] == "doomed"]
    for node in cluster.nodes:
        eventually(lambda: not there(node), f"{node.name} knows it no more")
    said = lambda: (cluster.root / "agent-doomed.log").read_text(errors="replace")
    eventually(lambda: "removed" in said(), "it is told so")
    cluster.first.apply("\n---\n".join(f"job: orphan-{n}\nmanual: true\npool: doomed\nsh: echo never" for n in range(12)))
    for n in range(12):
        waiting = cluster.first.trigger(f"orphan-{n}")
        eventually(lambda: any(reason["kind"].startswith("no_agent") for reason in cluster.first.json("why", waiting)["reasons"]), "nobody runs it")
