"""A tenant that only some servers may schedule: its jobs are in shards of its own, which only those servers own; when one of
them dies the other goes on, when both are gone it waits and says so, and nobody else notices."""

from cluster import Cluster
from harness import eventually

LEASE = 1000
JOBS = 12


def apply(cluster: Cluster, node, tenant: str, jobs: int = JOBS):
    text = "---\n".join(
        f"job: {tenant}-{n}\nevery: 1s\noverlap: allow\nsh: |\n  {cluster.task()}\n" for n in range(jobs))
    path = cluster.root / f"{tenant}.yaml"
    path.write_text(text)
    node.run("--tenant", tenant, "job", "apply", "-f", path, "--yes", check=True)


def own_shards(node, tenant: str) -> list[int]:
    return node.json("tenant", "show", tenant)["own_shards"]


def owners_of(cluster: Cluster, shards: list[int], by) -> set:
    names = {server["id"]: server["name"] for server in by.view()["servers"]}
    owners = cluster.owners(by)
    return {names.get(owners[shard]) for shard in shards}


def runs(cluster: Cluster, tenant: str) -> dict[str, int]:
    return {f"{tenant}-{n}": len(cluster.trace(f"{tenant}-{n}")) for n in range(JOBS)}


def all_run_on(cluster: Cluster, tenant: str):
    before = runs(cluster, tenant)
    eventually(lambda: all(runs(cluster, tenant)[job] >= ran + 2 for job, ran in before.items()),
               f"every job of {tenant} goes on", within=60)


def said(node, *args) -> str:
    answer = node.run(*args)
    assert answer.returncode != 0, answer.stdout
    return answer.stdout + answer.stderr


def test_a_tenant_of_two_servers_is_scheduled_by_these_only(make):
    cluster = make(servers=3, lease_ms=LEASE, agents=0)
    s1, s2, s3 = cluster.nodes
    (cluster.root / "join-box-1").write_text(s1.json("join-token", "--shared")["token"])
    cluster.join_agent("box-1", "--slots", "64")
    eventually(lambda: cluster.online("box-1"), "the agent is online", within=60)
    assert "E0706" in said(s1, "tenant", "create", "acme", "--servers", "s1,s9")
    s1.run("tenant", "create", "acme", "--servers", "s2,s1", check=True)
    s1.run("tenant", "create", "globex", check=True)
    own = own_shards(s1, "acme")
    assert own == list(range(64, 72)) and s3.json("tenant", "show", "acme")["servers"] == ["s1", "s2"]
    apply(cluster, s3, "acme")
    apply(cluster, s3, "globex")
    cluster.settled()
    assert owners_of(cluster, own, s3) == {"s1", "s2"}
    rows = cluster.database.run("select tenant.name, job.shard from job join tenant on tenant.id = job.tenant")
    shards = {name: {int(row.split("|")[1]) for row in rows.splitlines() if row.startswith(name)} for name in ("acme", "globex")}
    assert len(shards["acme"]) > 3 and shards["acme"] <= set(own), "its jobs are in its own shards"
    assert shards["globex"] and max(shards["globex"]) < 64, "and nobody else's are"
    all_run_on(cluster, "acme")
    all_run_on(cluster, "globex")
    assert "E0929" in said(s3, "tenant", "set", "globex", "--servers", "s1")

    s1.kill()
    eventually(lambda: owners_of(cluster, own, s3) == {"s2"}, "the other has all of it")
    all_run_on(cluster, "acme")

    words = s3.run("cluster", "drain", "s2", check=True).stdout
    assert "Tenant acme may only be scheduled by s1, s2, and no other of them is there" in words, words
    eventually(lambda: cluster.share(s2) == len(own), "it gave everything else away")
    all_run_on(cluster, "acme")

    s2.kill()
    waits = "tenant acme may only be scheduled by servers s1, s2, and none of them is there to do it"
    refused = eventually(lambda: (text := said(s3, "--tenant", "acme", "job", "pause", "acme-0")) and waits in text and text,
                         "a change of its jobs is refused with the reason")
    assert "E0710" in refused
    assert waits in said(s3, "--tenant", "acme", "why", "acme-0")
    assert waits in said(s3, "--tenant", "acme", "job", "trigger", "acme-1")
    assert s3.run("--tenant", "acme", "job", "show", "acme-0", check=True).stdout, "what is written can be read"
    assert "none of them is there to do it: its 8 shards wait" in s3.run("cluster", "status", check=True).stdout
    assert [one["state"] for one in s3.view()["reserved"]] == ["waiting"]
    stood = runs(cluster, "acme")
    all_run_on(cluster, "globex")
    assert runs(cluster, "acme") == stood, "nobody else schedules it"

    s1.start()
    eventually(lambda: owners_of(cluster, own, s3) == {"s1"}, "one that may is there again")
    all_run_on(cluster, "acme")
    # Shards move when others are named; jobs stay where they are.
    s3.run("tenant", "set", "acme", "--servers", "s3", check=True)
    eventually(lambda: owners_of(cluster, own, s1) == {"s3"}, "it moves to the one that is named now")
    s3.run("tenant", "set", "acme", "--any-server", check=True)
    cluster.settled()
    all_run_on(cluster, "acme")
    verified = s1.verify()
    assert verified["ok"], verified["findings"]
