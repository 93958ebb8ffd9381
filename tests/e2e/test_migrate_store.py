"""`duly migrate-store`: an embedded installation goes on in PostgreSQL, with all it had."""

import pathlib
import subprocess
import tempfile
import time

import pytest

import harness
from harness import BIN, Duly, eventually, seconds
from postgres import Postgres

pytestmark = harness.embedded


@pytest.fixture
def database():
    with tempfile.TemporaryDirectory(prefix="duly-pg-", ignore_cleanup_errors=True) as root:
        pathlib.Path(root).chmod(0o755)
        one = Postgres(pathlib.Path(root) / "pg")
        try:
            yield one.start()
        finally:
            one.stop()


@pytest.fixture
def embedded(tmp_path):
    """An installation that has run a little: jobs that fire, fail, wait, and one that is paused."""
    one = Duly(tmp_path).setup().up()
    try:
        eventually(one.agent_online, "the local agent is online", within=30)
        one.apply('job: tick\ncron: "* * * * * ?"\nsh: "echo run $DULY_INSTANCE_ID"')
        one.apply('job: bad\nsh: "echo no >&2; exit 3"')
        one.apply('job: asleep\ncron: "* * * * * ?"\nsh: "true"')
        one.run("job", "pause", "asleep", check=True)
        one.ended(one.trigger("bad"))
        eventually(lambda: len(one.instances("tick", state="succeeded")) >= 3, "some have run")
        yield one
    finally:
        one.stop()


def migrate(duly, database) -> subprocess.CompletedProcess:
    return subprocess.run([BIN, "migrate-store", "--from", duly.data, "--to", database.address],
                          capture_output=True, text=True, timeout=120)


def test_everything_is_there_after_the_move(embedded, database):
    duly = embedded
    told = migrate(duly, database)
    assert told.returncode != 0 and (duly.data / "duly.db").exists(), "a server that runs keeps its store"
    assert duly.stop_politely() == 0
    told = migrate(duly, database)
    assert told.returncode == 0, told.stderr
    assert "compared" in told.stdout and "instance" in told.stdout, told.stdout
    assert not (duly.data / "duly.db").exists() and (duly.data / "duly.db.moved").exists()

    duly.env["DULY_STORE"] = database.address
    duly.up()
    eventually(duly.agent_online, "the agent knows the server, and the server the agent", within=30)
    jobs = {job["name"]: job for job in duly.json("job", "list")["items"]}
    assert set(jobs) == {"tick", "bad", "asleep"} and jobs["asleep"]["mode"] == "paused", jobs
    done = duly.instances("tick", state="succeeded")
    assert len(done) >= 3
    assert f"run {done[-1]['id']}" in duly.run("log", done[-1]["id"]).stdout, "the output of old runs is still found"
    assert duly.instances("bad")[0]["state"] in ("failed", "dead")

    again = migrate(duly, database)
    assert again.returncode != 0, "there is nothing left to move"


def test_it_goes_on_where_it_stood(embedded, database):
    duly = embedded
    assert duly.stop_politely() == 0
    assert migrate(duly, database).returncode == 0
    duly.env["DULY_STORE"] = database.address
    duly.up()
    moment = time.time()
    eventually(lambda: [i for i in duly.instances("tick", state="succeeded") if seconds(i["planned_at"]) > moment],
               "it fires again")
    duly.ended(duly.trigger("bad"))
    assert duly.verify()["ok"]


def test_what_is_held_stays_held_and_followers_follow(embedded, database):
    duly, flag = embedded, embedded.root / "go"
    wait = f'sh: "while [ ! -e {flag} ]; do sleep 0.1; done"'
    followers = [f"follower-{n}" for n in range(8)]
    duly.apply("\n---\n".join([f"job: holder\nmutex: [gate]\n{wait}", 'job: waiter\nmutex: [gate]\nsh: "true"', f"job: leader\n{wait}",
                              *(f'job: {name}\nafter: leader\nsh: "true"' for name in followers)]))
    holder, leader = duly.trigger("holder"), duly.trigger("leader")
    duly.wait_state(holder, "running")
    duly.wait_state(leader, "running")
    waiter = duly.trigger("waiter")

    def gate():
        [line] = [one["line"] for one in duly.json("resource", "list")["items"] if one["name"] == "gate"]
        return [(ticket["instance"], ticket["held"]) for ticket in line]
    eventually(lambda: gate() == [(holder, True), (waiter, False)], "one holds it and one waits")
    assert duly.stop_politely() == 0
    assert migrate(duly, database).returncode == 0
    duly.env["DULY_STORE"] = database.address
    duly.up()
    assert gate() == [(holder, True), (waiter, False)]
    flag.touch()
    for instance in (holder, leader, waiter):
        assert duly.ended(instance)["state"] == "succeeded"
    eventually(lambda: all(duly.instances(name, state="succeeded") for name in followers), "each follower has followed")
    eventually(lambda: gate() == [], "nobody holds it")
    assert all(len(duly.instances(name)) == 1 for name in followers), "and no more than once"
    assert duly.verify()["ok"]


def test_a_store_that_is_in_use_is_not_written_over(embedded, database, tmp_path):
    (tmp_path / "other").mkdir()
    other = Duly(tmp_path / "other", env={"DULY_STORE": database.address})
    other.setup()
    assert embedded.stop_politely() == 0
    told = migrate(embedded, database)
    assert told.returncode != 0 and "not empty" in told.stderr, told
    assert (embedded.data / "duly.db").exists()
    assert database.run("select count(*) from duly.job") == "0"
