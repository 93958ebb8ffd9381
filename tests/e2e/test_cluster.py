"""Several servers on one PostgreSQL: who owns what, what happens when one joins, drains, dies or is paused, and that any of
them answers for all."""

import signal
import time

import requests

from cluster import Cluster
from harness import PASSWORD, eventually, seconds


def ticks(cluster: Cluster, count: int, rule: str = "misfire: all") -> list[str]:
    """Jobs that fire each second and write down that they did."""
    names = [f"tick-{n}" for n in range(count)]
    task = cluster.task()
    body = "\n---\n".join(f'job: {name}\ncron: {{ expr: "* * * * * ?", {rule} }}\noverlap: allow\nsh: |\n  {task}' for name in names)
    cluster.first.apply(body)
    return names


def each_second_once(cluster: Cluster, names: list[str], since: int, until: int):
    """The tasks' own word: every planned second between the two ran exactly once, for every job."""
    for name in names:
        ran = [seconds(run.planned) for run in cluster.trace(name)]
        within = [second for second in ran if since <= second < until]
        assert len(within) == len(set(within)), f"{name} ran a second twice"
        missing = set(range(since, until)) - set(within)
        assert not missing, f"{name} never ran {sorted(missing)[:5]} of {since} to {until}"


def settle_trace(cluster: Cluster, names: list[str], until: int):
    """Everything planned before then has come to its end."""
    def done():
        return all(any(seconds(run.planned) >= until and run.end for run in cluster.trace(name)) for name in names)
    eventually(done, "the tasks have caught up", within=60)


def test_shares_are_even_when_one_joins_and_when_one_leaves(make):
    cluster = make(servers=2)
    names = ticks(cluster, 40)
    assert sorted(cluster.share(node) for node in cluster.nodes) == [32, 32]
    eventually(lambda: all(cluster.trace(name) for name in names), "every job has run")
    since = int(time.time()) + 1

    third = cluster.node("s3")
    cluster.nodes.append(third)
    third.start()
    cluster.settled()
    assert sorted(cluster.share(node) for node in cluster.nodes) == [21, 21, 22]

    cluster.first.run("cluster", "weight", "s3", "2", check=True)
    cluster.settled()
    assert cluster.share(third) == 32
    cluster.first.run("cluster", "weight", "s3", "1", check=True)
    cluster.settled()

    assert third.stop_politely() == 0
    cluster.settled()
    assert sorted(cluster.share(node) for node in cluster.living()) == [32, 32]
    until = int(time.time()) + 1
    settle_trace(cluster, names, until)
    each_second_once(cluster, names, since, until)
    seen = cluster.first.verify()
    assert seen["ok"] and seen["missed"] == 0, seen


def test_a_killed_server_is_followed_by_the_others_within_its_lease(make):
    cluster = make(servers=3)
    names = ticks(cluster, 30)
    eventually(lambda: all(cluster.trace(name) for name in names), "every job has run")
    since = int(time.time()) + 1
    victim = cluster.nodes[2]
    killed = time.time()
    victim.send(signal.SIGKILL)
    victim.server.wait()
    cluster.settled()
    until = int(time.time()) + 1
    settle_trace(cluster, names, until)
    each_second_once(cluster, names, since, until)
    late = max(run.start - seconds(run.planned) for name in names for run in cluster.trace(name))
    assert late < cluster.lease + 2, f"fired {late} s late"
    seen = cluster.first.verify()
    assert seen["ok"], seen

    victim.start()
    cluster.settled()
    assert time.time() > killed


def test_any_server_answers_for_all(make):
    cluster = make(servers=3)
    bodies = "\n---\n".join(f'job: by-hand-{n}\nsh: "{cluster.task()}"'.replace('"$', '\\"$').replace('N)" ', 'N)\\" ') for n in range(12))
    cluster.nodes[1].apply(bodies)
    owners = set()
    for n in range(12):
        node = cluster.nodes[n % 3]
        made = node.json("job", "trigger", f"by-hand-{n}")
        for other in cluster.nodes:
            other.wait_state(made["id"], "succeeded")
            assert other.json("why", made["id"])["state"] == "succeeded"
        owners.add(made["id"])
    for n, node in enumerate(cluster.nodes):
        assert node.json("job", "pause", f"by-hand-{n}")["mode"] == "paused"
        assert node.json("job", "resume", f"by-hand-{n}")["mode"] == "enabled"
    agent = cluster.nodes[0].json("agents", "list")["items"][0]["id"]
    cluster.nodes[2].run("agents", "drain", agent, check=True)
    for node in cluster.nodes:
        eventually(lambda: node.json("agents", "show", agent)["drained"], f"{node.name} knows that it is drained")
    waiting = cluster.nodes[1].trigger("by-hand-3")
    for node in cluster.nodes:
        eventually(lambda: node.json("why", waiting)["state"] == "ready",
                   "nobody gives it work", within=5)
    cluster.nodes[1].run("agents", "undrain", agent, check=True)
    cluster.nodes[0].wait_state(waiting, "succeeded")
    assert cluster.first.verify()["ok"]


def test_a_paused_server_comes_back_to_nothing_and_does_nothing_twice(make):
    cluster = make(servers=3)
    names = ticks(cluster, 30)
    eventually(lambda: all(cluster.trace(name) for name in names), "every job has run")
    since = int(time.time()) + 1
    paused = cluster.nodes[1]
    before = cluster.share(paused)
    paused.send(signal.SIGSTOP)
    others = [node for node in cluster.nodes if node is not paused]
    mine = cluster.id_of(paused)
    eventually(lambda: mine not in cluster.owners(others[0]).values(), "the others have taken what it had", within=30)
    time.sleep(2 * cluster.lease)
    paused.send(signal.SIGCONT)
    cluster.settled()
    assert abs(cluster.share(paused) - before) <= 1
    until = int(time.time()) + 1
    settle_trace(cluster, names, until)
    each_second_once(cluster, names, since, until)
    seen = cluster.first.verify()
    assert seen["ok"], seen


def test_a_drained_server_hands_over_without_a_gap(make):
    cluster = make(servers=2)
    names = ticks(cluster, 30, rule="misfire: all")
    eventually(lambda: all(cluster.trace(name) for name in names), "every job has run")
    since = int(time.time()) + 1
    leaving = cluster.nodes[1]
    cluster.first.run("cluster", "drain", "s2", check=True)
    eventually(lambda: cluster.share(leaving) == 0, "it has given everything away")
    assert "draining" in cluster.first.run("cluster", "status").stdout
    until = int(time.time()) + 1
    settle_trace(cluster, names, until)
    each_second_once(cluster, names, since, until)
    assert cluster.first.verify()["ok"]
    cluster.first.run("cluster", "undrain", "s2", check=True)
    cluster.settled()


def test_followers_and_mutexes_hold_across_servers_and_a_kill(make):
    cluster = make(servers=3)
    first = cluster.first
    first.run("resource", "set", "db", "--units", "2", check=True)
    rule = 'cron: "* * * * * ?"\noverlap: { queue: 3 }'
    jobs = [f'job: one-{n}\n{rule}\nmutex: [gate]\nsh: |\n  {cluster.task("sleep 0.1")}' for n in range(3)]
    jobs += [f'job: two-{n}\n{rule}\nresources: {{ db: 1 }}\nsh: |\n  {cluster.task("sleep 0.2")}' for n in range(4)]
    jobs += [f'job: leader-{n}\nsh: |\n  {cluster.task()}' for n in range(8)]
    jobs += [f'job: follower-{n}\nafter: leader-{n}\nsh: |\n  {cluster.task()}' for n in range(8)]
    first.apply("\n---\n".join(jobs))
    ran = [f"one-{n}" for n in range(3)] + [f"two-{n}" for n in range(4)]
    eventually(lambda: all(len(cluster.trace(name)) >= 2 for name in ran), "all of them had their turn")
    for n in range(8):
        cluster.nodes[n % 3].ended(cluster.nodes[n % 3].trigger(f"leader-{n}"))
    eventually(lambda: all(len(cluster.trace(f"follower-{n}")) == 1 for n in range(8)), "each follower has followed")

    victim = cluster.nodes[1]
    victim.send(signal.SIGKILL)
    victim.server.wait()
    before = {name: len(cluster.trace(name)) for name in ran}
    cluster.settled()
    eventually(lambda: all(len(cluster.trace(name)) >= before[name] + 3 for name in ran), "nobody starves", within=60)

    def most_at_once(names) -> int:
        runs = [run for name in names for run in cluster.trace(name)]
        edges = [(run.start, 1) for run in runs] + [(run.end, -1) for run in runs if run.end]
        now = most = 0
        for _, step in sorted(edges):
            now += step
            most = max(most, now)
        return most
    assert most_at_once([f"one-{n}" for n in range(3)]) == 1
    assert most_at_once([f"two-{n}" for n in range(4)]) == 2
    assert all(len(cluster.trace(f"follower-{n}")) == 1 for n in range(8)), "and no more than once"
    seen = first.verify()
    assert seen["ok"], seen


def test_an_exclusive_job_keeps_its_agent_and_moves_when_that_dies(make):
    cluster = make(servers=2, agents=3)
    cluster.first.apply(f'job: alone\ncron: {{ expr: "* * * * * ?", misfire: skip }}\noverlap: skip\nexclusive: {{ takeover: 5s }}\n'
                        f'sh: |\n  {cluster.task("sleep 0.2")}')

    def agents_of(newest: int) -> set:
        return {i["agent"] for i in cluster.first.instances("alone", state="succeeded")[:newest]}
    eventually(lambda: len(cluster.trace("alone")) >= 5, "it has run some times")
    eventually(lambda: len(cluster.first.instances("alone", state="succeeded")) >= 5, "and that is written down")
    [elected] = agents_of(100)
    cluster.agents[elected].kill()
    cluster.agents[elected].wait()
    eventually(lambda: elected not in agents_of(3), "another runs it now", within=60)
    assert len(agents_of(3)) == 1, "and that one only"
    runs = cluster.trace("alone")
    overlaps = [(a, b) for a, b in zip(runs, runs[1:]) if a.end is None or b.start < a.end]
    assert all(a.end is None and b.start > a.start + 5 for a, b in overlaps), "what was cut off had its leash to end"
    assert cluster.first.verify()["ok"]


def test_a_browser_works_at_one_server_with_what_others_own(make):
    cluster = make(servers=3)
    node, names = cluster.first, [f"job-{n}" for n in range(12)]
    node.apply("\n---\n".join(f"job: {name}\nmanual: true\noverlap: allow\nnoop: true" for name in names))
    owners, shards = cluster.owners(), cluster.shards_of_jobs()
    assert len({owners[shards[name]] for name in names}) == 3, "every server owns some of them"
    browser, url = requests.Session(), f"{node.url}/api/v1"
    assert browser.post(f"{url}/sessions", json={"name": "ada", "password": PASSWORD}, timeout=30).status_code == 201
    ours = {"origin": node.url, "sec-fetch-site": "same-origin"}
    ask = lambda path, headers: browser.post(url + path, json={}, headers=headers, timeout=30)
    for name in names:
        told = ask(f"/jobs/{name}/trigger", ours)
        assert told.ok, told.text
        instance = told.json()["id"]
        node.ended(instance)
        for path in (f"/jobs/{name}/trigger", f"/instances/{instance}/rerun"):
            for forged in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
                assert ask(path, forged).status_code == 403, f"a page of another site may not: {path}"
        told = ask(f"/instances/{instance}/rerun", ours)
        assert told.ok, told.text
