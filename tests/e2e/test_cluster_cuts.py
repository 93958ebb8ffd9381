"""A cluster on machines of its own, whose network is cut in pieces under a thousand fires a second: nothing is lost, nothing
runs twice, and what must run alone runs alone."""

import time

import checker
from cluster import figure
from cluster_load import Load
from harness import SOAK, eventually

LEASE = 1000
ROUNDS = 30 if SOAK else 3


def test_a_server_cut_from_the_database_does_no_harm(network, make):
    cluster = make(servers=3, lease_ms=LEASE, network=network)
    load = Load(cluster).start()
    took = []
    for round in range(ROUNDS):
        node = cluster.nodes[round % 3]
        others, mine = [other for other in cluster.nodes if other is not node], cluster.id_of(node)
        network.cut(node.name, "db")
        node.paused = True  # it can be reached, but knows nothing
        cut = time.time()
        eventually(lambda: mine not in cluster.owners(others[0]).values(), "the others have what it had", every=0.02)
        took.append(time.time() - cut)
        time.sleep(max(0.0, cut + 3 * cluster.lease - time.time()))
        network.heal(node.name, "db")
        node.paused = False
        cluster.settled(within=60)
    figure(f"server cut from the database (lease {LEASE} ms), until others have its shards", took)
    load.judge()


def test_a_server_cut_from_everything_does_no_harm(network, make):
    cluster = make(servers=3, lease_ms=LEASE, network=network)
    load = Load(cluster).start()
    took = []
    for round in range(ROUNDS):
        node = cluster.nodes[round % 3]
        others, mine = [other for other in cluster.nodes if other is not node], cluster.id_of(node)
        node.place.unplug()
        node.paused = True
        cut = time.time()
        eventually(lambda: mine not in cluster.owners(others[0]).values(), "the others have what it had", every=0.02)
        took.append(time.time() - cut)
        time.sleep(max(0.0, cut + 3 * cluster.lease - time.time()))
        node.place.plug_in()
        node.paused = False
        cluster.settled(within=60)
    figure(f"server cut from everything (lease {LEASE} ms), until others have its shards", took)
    load.judge()


def test_an_agent_cut_off_ends_its_task_before_another_begins_it(network, make):
    """Everything runs on: the agent, its task and the servers. Only the task's own leash, which nobody can lengthen, ends it."""
    cluster = make(servers=3, agents=2, lease_ms=LEASE, network=network)
    names = [f"moves-{n}" for n in range(4)]
    beats = "while [ ! -e {gate} ]; do $BEAT; sleep 0.05; done"
    gate = cluster.root / "gate"
    task = cluster.task(beats.format(gate=gate))
    cluster.first.apply("\n---\n".join(f"job: {name}\nmanual: true\nexclusive: {{ takeover: 5s }}\nstop_grace: 1s\n"
                                       f"retry: {{ times: 20, delay: 100ms }}\nsh: |\n  {task}" for name in names))
    instances = {name: cluster.first.trigger(name) for name in names}
    place = lambda name: cluster.first.wait_state(instances[name], "running")["agent"]
    eventually(lambda: all(cluster.trace(name) for name in names), "all of them run")
    silent = []
    for round in range(10 if SOAK else 2):
        victim = place(names[0])
        theirs = {name: cluster.trace(name)[-1] for name in names if place(name) == victim}
        network.places[victim].unplug()
        cut = time.time()
        moved = lambda: all(cluster.trace(name)[-1].fence > run.fence for name, run in theirs.items())
        eventually(moved, "they run elsewhere", within=60)
        for name, run in theirs.items():
            before, after = cluster.trace(name)[-2:]
            assert before.fence == run.fence and before.end is None, "it was ended"
            assert before.seen > cut + 1, "a link that was lost a moment ago is no reason to end anything"
            silent.append(after.start - before.seen)
        network.places[victim].plug_in()
        eventually(lambda: cluster.online(victim), "it is back", within=60)
    figure("agent cut off, from the last sign of its task until it begins elsewhere", silent)
    gate.touch()
    for name, instance in instances.items():
        assert cluster.first.ended(instance, within=60)["state"] == "succeeded"
        found = checker.faults(cluster.trace(name), alone=True, retried=True)
        assert not found, found
    assert min(silent) > 0 and cluster.first.verify()["ok"]
