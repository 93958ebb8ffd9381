"""A cluster on machines of its own, whose network is cut in pieces under a thousand fires a second: nothing is lost, nothing
runs twice, and what must run alone runs alone."""

import time

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
