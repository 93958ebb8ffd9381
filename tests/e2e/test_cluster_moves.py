"""How long a cluster takes to go on: servers killed one after the other, servers drained, servers that join and leave under
ten thousand jobs. Times are printed at the end. What is promised of them is asserted in the long run, which has the machine for
itself; otherwise what is asserted leaves room for a busy one."""

import collections
import datetime as dt
import time

from cluster import FIGURES, Cluster, figure
from cluster_load import Kind, Load
from harness import SOAK, eventually, seconds

PLAIN = Kind("plain", "overlap: allow", 48, alone=False)
ALONE = Kind("waits", "exclusive: wait", 6, 2, "sleep 0.3")
EMPTY = 300
KILLS = 30 if SOAK else 5
# The default in the long run; shorter here, so that the same holds of it sooner.
LEASE = 4000 if SOAK else 1500


def moment(stamp: str) -> float:
    return dt.datetime.fromisoformat(stamp).timestamp()


def jobs_of(cluster: Cluster, node, names) -> list[str]:
    mine, owners, shards = cluster.id_of(node), cluster.owners(), cluster.shards_of_jobs()
    return [name for name in names if owners[shards[name]] == mine]


def test_what_a_killed_server_owned_fires_again_soon(make):
    cluster = make(servers=3, lease_ms=LEASE)
    load = Load(cluster, empty=EMPTY, kinds=[PLAIN, ALONE]).start()
    first, all, empty = [], [], []
    for round in range(KILLS):
        victim = cluster.nodes[round % 3]
        orphans = jobs_of(cluster, victim, [name for name in load.jobs if name.startswith("plain")])
        fired = set(jobs_of(cluster, victim, [f"empty-{n}" for n in range(EMPTY)]))
        assert orphans and fired
        victim.kill()
        # What it ordered in its last moment is not its successor's.
        killed, own_orders = time.time(), 0.25

        def again():
            starts = [next((run.start for run in cluster.trace(name) if run.start > killed + own_orders), None) for name in orphans]
            return starts if None not in starts else None
        starts = eventually(again, "every job of the killed server fires again", within=60)
        first.append(min(starts) - killed)
        all.append(max(starts) - killed)
        empty.append(max(first_starts(load, fired, killed + own_orders)) - killed)
        victim.start()
        cluster.settled()
    figure(f"server killed (lease {LEASE} ms), until the first of its jobs fires", first)
    figure(f"server killed (lease {LEASE} ms), until all of its jobs fire", all)
    # What its shards decided, without the hundred shells that are then started at once.
    most = figure(f"server killed (lease {LEASE} ms), until all of its empty jobs fire, by the ledger", empty)
    assert max(all) < cluster.lease + 3, all
    assert not SOAK or most <= cluster.lease + 1, empty
    load.judge()


def first_starts(load: Load, jobs: set[str], after: float) -> list[float]:
    """When each of these was first started again, by the ledger."""
    def started():
        starts = collections.defaultdict(list)
        for row in load.rows(**{"from": dt.datetime.fromtimestamp(after - 10, dt.UTC).isoformat()}):
            if row["job"] in jobs and row.get("started_at") and moment(row["started_at"]) > after:
                starts[row["job"]].append(moment(row["started_at"]))
        return [min(each) for each in starts.values()] if starts.keys() == jobs else None
    return eventually(started, "each of its empty jobs fires again", within=60)


def test_a_drained_server_hands_over_in_time(make):
    cluster = make(servers=3)
    load = Load(cluster, empty=300, kinds=[PLAIN, ALONE]).start()
    late, calm, empty, ledger = [], [], [], []
    for round in range(6 if SOAK else 2):
        node = cluster.nodes[round % 3]
        began = time.time()
        cluster.nodes[(round + 1) % 3].run("cluster", "drain", node.name, check=True)
        eventually(lambda: cluster.share(node) == 0, "it has given everything away")
        ended = time.time()
        eventually(lambda: load.caught_up(int(ended) + 3), "it goes on")
        runs = [run for name in load.jobs if name.startswith("plain") for run in cluster.trace(name)]
        late += [run.start - seconds(run.planned) for run in runs if began <= seconds(run.planned) <= ended + 1]
        calm += [run.start - seconds(run.planned) for run in runs if ended + 1 < seconds(run.planned) <= ended + 3]
        window = [dt.datetime.fromtimestamp(at, dt.UTC).isoformat() for at in (began, ended + 1)]
        told = cluster.first.api("GET", "/verify", params={"from": window[0], "to": window[1]}).json()["lateness"]
        ledger.append(f"{told['starts']} starts, p50 {told['p50']}, p99 {told['p99']}, longest {told['longest']}")
        rows = load.rows(**{"from": window[0], "to": window[1]})
        empty += [moment(row["started_at"]) - moment(row["planned_at"]) for row in rows if row["job"].startswith("empty") and row.get("started_at")]
        cluster.nodes[(round + 1) % 3].run("cluster", "undrain", node.name, check=True)
        cluster.settled()
    figure("start after the planned time while a server drains", late)
    figure("start after the planned time in calm, beside it", calm)
    figure("start after the planned time while a server drains, empty jobs, by the ledger", empty)
    assert max(late) < max(1.0, 2 * max(calm)), "draining makes nothing late"
    assert len(empty) > 300 and (not SOAK or max(empty) <= 0.2), sorted(empty)[-5:]
    FIGURES.append(f"the same by the ledger, empty jobs included: {'; '.join(ledger)}")
    load.judge()


def test_ten_thousand_jobs_stay_evenly_spread(make):
    cluster = make(servers=3)
    load = Load(cluster, empty=10_000, kinds=[Kind("plain", "overlap: allow", 12, alone=False)], every=10).start()

    def shares_are_even():
        cluster.settled(within=60)
        owners, shards = cluster.owners(), cluster.shards_of_jobs()
        count = collections.Counter(owners[shard] for shard in shards.values())
        even = len(shards) / len(cluster.living())
        FIGURES.append(f"jobs of {len(cluster.living())} servers: {sorted(count.values())}")
        assert len(shards) == 10_012 and all(abs(jobs - even) <= even / 10 for jobs in count.values()), count

    shares_are_even()
    fourth = cluster.node("s4")
    cluster.nodes.append(fourth)
    fourth.start()
    shares_are_even()
    assert cluster.nodes[1].stop_politely() == 0
    shares_are_even()
    load.judge()
