"""A cluster at a thousand fires a second, whose servers are paused, whose clocks are wrong and whose database goes away:
nothing is lost, nothing runs twice, and what must run alone runs alone."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from cluster import figure, until
from cluster_load import Load
from harness import SOAK, eventually, seconds
from postgres_pair import Pair
from test_bad_days import Clock, needs_faketime

# Short, so that many faults fit into a test. What holds for it holds for a longer one.
LEASE = 1000
ROUNDS = 30 if SOAK else 3


def test_a_paused_owner_does_no_harm_when_it_goes_on(make):
    cluster = make(servers=3, lease_ms=LEASE)
    load = Load(cluster).start()
    late = []
    for round in range(ROUNDS):
        paused = cluster.nodes[round % 3]
        assert cluster.share(paused) > 15
        mine = cluster.id_of(paused)
        paused.send(signal.SIGSTOP)
        stopped = time.time()
        eventually(lambda: mine not in cluster.owners().values(), "the others have what it had", within=30, every=0.02)
        late.append(time.time() - stopped)
        time.sleep(max(0.0, stopped + 3 * cluster.lease - time.time()))
        paused.send(signal.SIGCONT)
        cluster.settled()
    figure(f"paused owner (lease {LEASE} ms), until others have its shards", late)
    load.judge()


@contextlib.contextmanager
def busy_machine():
    """Somebody else takes every core there is."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_a_database_that_stops_for_two_seconds_moves_nothing(make):
    cluster = make(servers=3)
    load = Load(cluster, empty=4000 if SOAK else 1000).start()
    before, began = cluster.terms(), time.time()
    with busy_machine() if SOAK else contextlib.nullcontext():
        for round in range(ROUNDS):
            cluster.database.send(signal.SIGSTOP)
            time.sleep(2)
            cluster.database.send(signal.SIGCONT)
            resumed = time.time()
            eventually(lambda: all(cluster.trace(name)[-1].start > resumed for name in load.jobs if name.startswith("plain")), "it goes on", within=60)
            cluster.settled()
            if SOAK:
                until(began + 20 * (round + 1))
    assert cluster.terms() == before, "nobody took anything from anybody"
    load.judge(within=600 if SOAK else 120)


def test_a_database_that_is_killed_is_waited_for(make):
    cluster = make(servers=3, lease_ms=LEASE)
    load = Load(cluster).start()
    took = []
    for round in range(ROUNDS):
        cluster.database.kill()
        time.sleep(0.5 + round % 3)  # shorter and longer than the lease
        cluster.database.start()
        resumed = time.time()
        eventually(lambda: all(cluster.trace(name)[-1].start > resumed for name in load.jobs if name.startswith("plain")), "it goes on", every=0.02)
        took.append(time.time() - resumed)
        cluster.settled()
    figure("database killed and started, until all jobs fire again", took)
    load.judge()


def test_a_database_that_fails_over_loses_nothing(make):
    cluster = make(servers=3, lease_ms=LEASE, database=Pair)
    load = Load(cluster).start()
    pids, took = [node.server.pid for node in cluster.nodes], []
    for round in range(10 if SOAK else 2):
        if round:
            cluster.database.follow()
        cluster.database.fail_over()
        resumed = time.time()
        eventually(lambda: all(cluster.trace(name)[-1].start > resumed for name in load.jobs if name.startswith("plain")), "it goes on",
                   within=60, every=0.02)
        took.append(time.time() - resumed)
        cluster.settled(within=60)
    figure("database killed and its follower made the first, until all jobs fire again", took)
    load.judge()
    assert [node.server.pid for node in cluster.living()] == pids, "the same servers all along"


@needs_faketime
@pytest.mark.parametrize("ahead", [30, -30])
def test_a_server_whose_clock_is_wrong_is_no_worse(make, ahead):
    cluster = make(servers=3, lease_ms=LEASE)
    wrong = cluster.nodes[2]
    clock = Clock(wrong)
    assert wrong.stop_politely() == 0
    wrong.start(env=clock.env)  # as it should be, to begin with
    cluster.settled()
    load = Load(cluster).start()
    for n in range(ROUNDS if SOAK else 1):
        clock.set(ahead if n % 2 == 0 else 0)
        # Under the wrong clock it owns, loses to others, and takes from others.
        time.sleep(2 * cluster.lease)
        wrong.send(signal.SIGSTOP)
        time.sleep(3 * cluster.lease)
        wrong.send(signal.SIGCONT)
        cluster.settled()
        cluster.first.kill()
        cluster.settled()
        cluster.first.start()
        cluster.settled()
    wrong.kill()
    wrong.start(env=clock.env)  # and from the beginning
    cluster.settled()
    load.judge()
    early = [run for name in load.jobs for run in cluster.trace(name) if run.start < seconds(run.planned) - 0.1]
    assert not early, early[:5]
