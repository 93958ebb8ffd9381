"""XXL-JOB executors and two admins: they register with one, tell results to the other, and every second runs once."""

import collections
import signal
import subprocess
import time

import pytest

from harness import BIN, SOAK, eventually, seconds
from test_xxl_log import Written, started
from xxl_door import Door
from xxl_stub import TOKEN, Executor

SECONDS = 60 if SOAK else 20


@pytest.fixture
def admins(make, monkeypatch):
    monkeypatch.setenv("DULY_XXL_TOKEN", TOKEN)
    return make(servers=2, agents=0)


@pytest.fixture
def executor():
    made = []

    def start(register_at, results_to, app: str) -> Executor:
        one = Executor(Door(register_at.url, TOKEN), app, result=(200, "done"))
        made.append(one)
        one.register()
        one.door = Door(results_to.url, TOKEN)
        one.beat(1)
        return one
    yield start
    for one in made:
        one.close()


def known_to_all(cluster, *executors: Executor):
    """Each server gives orders itself, so each must know them."""
    def look(node):
        there = {agent["name"] for agent in node.json("agents", "list")["items"] if agent["state"] == "online"}
        return {one.address for one in executors} <= there
    for node in cluster.living():
        eventually(lambda: look(node), f"{node.name} knows the executors")


def once_each(cluster, executors, names, since: int, until: int):
    sent = collections.Counter(run["logId"] for one in executors for run in one.runs())
    assert not [log for log, times in sent.items() if times > 1], "nothing was sent twice"
    for name in names:
        made = [i for i in cluster.living()[0].instances(name) if since <= seconds(i["planned_at"]) < until]
        assert sorted(seconds(i["planned_at"]) for i in made) == list(range(since, until)), name
        assert {i["state"] for i in made} == {"succeeded"}, name
        assert all(sent[i["attempt"]] == 1 for i in made), name


def test_every_second_runs_once_with_two_admins(admins, executor):
    first, second = admins.nodes
    one, other = executor(first, second, "shop"), executor(second, first, "shop")
    known_to_all(admins, one, other)
    names = [f"shop-{n}" for n in range(8)]
    first.apply("\n---\n".join(one.job(name, 'cron: "* * * * * ?"', route="round") for name in names))
    eventually(lambda: all(first.instances(name, state="succeeded") for name in names), "all have run")
    since = int(time.time()) + 1
    until = since + SECONDS
    eventually(lambda: time.time() > until + 1, "the time is over", within=SECONDS + 30)

    def all_ended():
        return all(i["state"] == "succeeded" for name in names for i in second.instances(name) if seconds(i["planned_at"]) < until)
    eventually(all_ended, "every result has come")
    once_each(admins, [one, other], names, since, until)
    assert one.runs() and other.runs(), "both were sent work"
    assert second.verify()["ok"]


def test_a_killed_admin_is_replaced_by_the_other(admins, executor):
    first, second = admins.nodes
    one = executor(second, second, "kept")
    known_to_all(admins, one)
    names = [f"kept-{n}" for n in range(6)]
    first.apply("\n---\n".join(one.job(name, 'cron: { expr: "* * * * * ?", misfire: all }') for name in names))
    eventually(lambda: all(first.instances(name, state="succeeded") for name in names), "all have run")
    first.send(signal.SIGKILL)
    first.server.wait()
    admins.settled()
    since = int(time.time()) + 1
    eventually(lambda: time.time() > since + 4, "some seconds pass", within=30)

    def all_ended():
        return all(i["state"] == "succeeded" for name in names for i in second.instances(name) if since <= seconds(i["planned_at"]) < since + 3)
    eventually(all_ended, "every result has come")
    once_each(admins, [one], names, since, since + 3)
    assert second.verify()["ok"]


def test_a_restart_that_one_admin_noticed_is_known_to_the_other(make, monkeypatch, executor):
    """Runs of both are with an executor that dies; only one of them calls it before it is back."""
    monkeypatch.setenv("DULY_XXL_TOKEN", TOKEN)
    monkeypatch.setenv("DULY_XXL_GUARD_MS", "6000")
    admins = make(servers=2, agents=0)
    first, second = admins.nodes
    stub = executor(first, second, "mortal")
    stub.result = None
    known_to_all(admins, stub)
    names = [f"mortal-{n}" for n in range(12)]
    first.apply("\n---\n".join(stub.job(name) for name in [*names, "late"]))
    owners = admins.owners()
    assert len({owners[shard] for name, shard in admins.shards_of_jobs().items() if name in names}) == 2
    lost = [first.trigger(name) for name in names]
    eventually(lambda: len(stub.runs()) == len(names), "all were sent")
    stub.vanish()
    first.trigger("late")

    def noticed(node):
        return [agent["state"] for agent in node.api("GET", "/agents").json()["items"]] != ["online"]
    eventually(lambda: any(noticed(node) for node in admins.nodes), "somebody called and nobody listened", every=0.01)
    stub.listen()
    stub.register()
    for instance in lost:
        ended = second.ended(instance, within=40)
        assert (ended["state"], ended["reason"]) == ("failed", "lost"), ended
    sent = [run["logId"] for run in stub.runs()]
    assert len(sent) == len(set(sent)), "none was sent twice"


def test_a_token_made_at_one_admin_opens_the_other(admins, executor):
    first, second = admins.nodes
    made = first.json("xxl-token", "create")
    door = Door(second.url, made["token"])
    body = {"registryGroup": "EXECUTOR", "registryKey": "late", "registryValue": "http://127.0.0.1:1/"}
    eventually(lambda: door.call("/xxl-job-admin/api/registry", body).code == 200, "the other knows it")
    first.run("xxl-token", "revoke", made["id"], "--yes", check=True)
    eventually(lambda: door.call("/xxl-job-admin/api/registry", body).code != 200, "and forgets it")


def test_whoever_follows_a_log_sees_its_end_wherever_it_asks(admins, executor):
    first, second = admins.nodes
    stub = executor(first, second, "talks")
    stub.result = None
    stub.on("log", Written("one", end=True))
    known_to_all(admins, stub)
    instance, run = started(first, stub)

    def follow(node) -> subprocess.Popen:
        env = dict(node.env, DULY_URL=node.url, DULY_TOKEN=node.token_file.read_text())
        return subprocess.Popen([BIN, "log", str(instance), "--follow"], stdout=subprocess.PIPE, text=True, env=env)
    readers = [follow(node) for node in admins.nodes]
    try:
        assert [reader.stdout.readline() for reader in readers] == ["one\n", "one\n"]
        stub.finish(run, 200)
        assert [reader.wait(timeout=20) for reader in readers] == [0, 0]
    finally:
        for reader in readers:
            reader.kill()
