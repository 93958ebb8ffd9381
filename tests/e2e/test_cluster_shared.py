"""Jobs of several shards share a mutex and a counted resource while the cluster carries its load and its servers, an agent and
the database are killed: never two with the mutex, never more units in use than there are, everybody has its turn, and when
all is quiet nothing is held."""

import itertools
import random
import threading
import time

import checker
from cluster import FIGURES, Cluster
from cluster_load import KINDS, Kind, Load
from harness import SOAK, eventually

LEASE = 1000
ROUNDS = 8 if SOAK else 1
UNITS = 3
QUEUE = "overlap: { queue: 200 }"
# Two jobs of which each needs both, a third that needs the mutex only, and two that crowd the resource; one of them needs all
# of it, so that it would wait for ever if others could pass.
BOTH = Kind("both", f"{QUEUE}\nmutex: [gate]\nresources: {{ seat: 1 }}", 2, 2, "sleep 0.1")
GATE = Kind("gate", f"{QUEUE}\nmutex: [gate]", 1, 2, "sleep 0.1")
PAIR = Kind("pair", f"{QUEUE}\nresources: {{ seat: 2 }}", 1, 2, "sleep 0.1")
FULL = Kind("full", f"{QUEUE}\nresources: {{ seat: {UNITS} }}", 1, 2, "sleep 0.1")
SHARED = [BOTH, GATE, PAIR, FULL]
SEATS = {BOTH: 1, PAIR: 2, FULL: UNITS}


class Lines:
    """Looks at the lines again and again, as `duly resource list` shows them: whoever waits is never passed."""

    def __init__(self, cluster: Cluster):
        self.cluster, self.found, self.looks, self.longest = cluster, [], 0, 0
        self.ahead: dict[tuple, set] = {}
        self.enough = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.enough.wait(0.1):
            try:
                seen = self.cluster.living()[0].api("GET", "/resources", timeout=5).json()["items"]
            except (OSError, ValueError, KeyError, IndexError):
                continue  # it was killed just now
            self.looks += 1
            for one in seen:
                self.judge(one)

    def judge(self, one: dict):
        where = f"{one['kind']} {one['name']}"
        if one["held"] > one["units"]:
            self.found.append(f"{where}: {one['held']} are held of {one['units']}")
        place = [(where, ticket["instance"], ticket["since"]) for ticket in one["line"]]
        held = {key for key, ticket in zip(place, one["line"]) if ticket["held"]}
        waiting = [key for key in place if key not in held]
        self.longest = max(self.longest, len(waiting))
        for key in held:
            if passed := self.ahead.get(key, set()) & set(waiting):
                self.found.append(f"{key} has it, {passed} came before and waits")
        for at, key in enumerate(waiting):
            self.ahead.setdefault(key, set(waiting[:at]))

    def end(self) -> list[str]:
        self.enough.set()
        self.thread.join()
        return self.found


def held_by_nobody(cluster: Cluster):
    seen = {one["name"]: one for one in cluster.living()[0].json("resource", "list")["items"]}
    assert seen["gate"]["units"] == 1 and seen["seat"]["units"] == UNITS
    assert all(one["held"] == one["waiting"] == len(one["line"]) == 0 for one in seen.values()), seen
    assert cluster.database.run("select count(*) from duly.ticket") == "0"


def test_what_is_shared_is_shared_in_turn_whoever_dies(make):
    cluster = make(servers=3, agents=2, lease_ms=LEASE)
    cluster.first.run("resource", "set", "seat", "--units", UNITS, check=True)
    # A leash of some seconds may run out while agents and servers are killed in turn: that ends a task, as it should.
    load = Load(cluster, kinds=[kind for kind in KINDS if "takeover" not in kind.rule] + SHARED)
    names = [name for name, kind in load.jobs.items() if kind in SHARED]
    load.start()
    assert len({cluster.shards_of_jobs()[name] for name in names}) >= 3, "they are decided about in several places"
    lines, chance = Lines(cluster), random.Random(7)

    def keeps_running(what: str):
        """Everybody has its turn again."""
        since = time.time()
        eventually(lambda: all(cluster.trace(name)[-1].start > since for name in names), f"nobody starves: {what}", within=60)

    def kill_server(number: int):
        node = cluster.nodes[number % 3]
        node.kill()
        time.sleep(chance.uniform(0, 2 * cluster.lease))  # back before or after others have what it had
        node.start()
        return f"server {node.name} killed"

    def kill_agent(number: int):
        name = sorted(cluster.agents)[number % 2]
        cluster.agents[name].kill()
        cluster.agents[name].wait()
        time.sleep(chance.uniform(0, 1))
        cluster.join_agent(name)
        return f"agent {name} killed"

    def kill_database(_):
        cluster.database.kill()
        time.sleep(chance.uniform(0, 2 * cluster.lease))
        cluster.database.start()
        return "database killed"

    for number, fault in itertools.product(range(ROUNDS), [kill_server, kill_agent, kill_database]):
        keeps_running(fault(number))
    # And while one is away, another.
    node = cluster.nodes[ROUNDS % 3]
    node.kill()
    kill_agent(ROUNDS)
    node.start()
    cluster.settled(within=60)
    load.judge()

    runs = {name: cluster.trace(name) for name in names}
    gate = [run for name in names if load.jobs[name] in (BOTH, GATE) for run in runs[name]]
    seats = [run for name in names if load.jobs[name] in SEATS for run in runs[name]]
    found = checker.crowded(gate, lambda _: 1, 1)
    found += checker.crowded(seats, lambda run: SEATS[load.jobs[run.job]], UNITS)
    found += lines.end()
    assert not found, "\n".join(found[:20])
    assert lines.looks > 20 and lines.longest >= 2, "there were lines, and they were looked at"
    waits = {name: max(b.start - a.start for a, b in zip(runs[name], runs[name][1:])) for name in names}
    FIGURES.append(f"shared under kills: {len(gate)} held the mutex, {len(seats)} the resource; longest line {lines.longest}, "
                   f"longest time without a turn {max(waits.values()):.1f} s")
    eventually(lambda: held_by_nobody(cluster) is None, "nothing is held by anybody")
