"""The store in PostgreSQL: the same installation with `--store`, and what happens when server or database die."""

import pathlib
import tempfile
import time

import pytest

from harness import Duly, eventually, seconds
from postgres import Postgres


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
def stored(tmp_path, database):
    """A set-up, running installation whose store is that database."""
    one = Duly(tmp_path, env={"DULY_STORE": database.address}).setup().up()
    try:
        eventually(one.agent_online, "the local agent is online", within=30)
        yield one
    finally:
        one.stop()


def ended_since(duly, job: str, moment: float) -> list:
    return [i for i in duly.instances(job, state="succeeded") if seconds(i["planned_at"]) > moment]


def no_second_is_missing(duly, job: str, until: int):
    """One instance or one entry of a gap for every second, and no instance twice."""
    times = sorted(seconds(i["planned_at"]) for i in duly.instances(job) if seconds(i["planned_at"]) < until)
    assert len(times) == len(set(times)), "a planned second twice"
    seen = duly.verify()
    assert seen["ok"], seen


def test_a_killed_server_and_a_killed_database_lose_nothing(stored, database):
    duly = stored
    assert not (duly.data / "duly.db").exists(), "nothing is kept in a file as well"
    duly.apply('job: tick\ncron: { expr: "* * * * * ?", misfire: all }\noverlap: allow\nsh: "echo $DULY_INSTANCE_ID"')
    eventually(lambda: len(duly.instances("tick", state="succeeded")) >= 3, "some have run")
    one = duly.instances("tick", state="succeeded")[0]
    assert str(one["id"]) in duly.run("log", one["id"]).stdout

    duly.kill_server()
    duly.up()
    eventually(duly.agent_online, "the agent is back")
    moment = time.time()
    eventually(lambda: len(ended_since(duly, "tick", moment)) >= 2, "it fires again")

    pid = duly.server_pid()
    for _ in range(2):
        database.kill()
        told = duly.run("job", "list", timeout=60)
        assert told.returncode != 0 and "PostgreSQL" in told.stdout + told.stderr, told
        database.start()
        moment = time.time()
        eventually(lambda: len(ended_since(duly, "tick", moment)) >= 2, "it fires again by itself", within=60)
    assert duly.server_pid() == pid, "the same server all along"
    until = int(time.time()) - 2
    eventually(lambda: not [i for i in duly.instances("tick") if i["state"] != "succeeded" and seconds(i["planned_at"]) < until],
               "everything that was due has run", within=60)
    no_second_is_missing(duly, "tick", until)
    listed = len(duly.instances("tick"))
    assert int(database.run("select count(*) from duly.instance")) >= listed


def test_backups_are_the_databases_own(stored, tmp_path):
    told = stored.run("backup", "-o", tmp_path / "copy")
    assert told.returncode != 0 and "pg_dump" in told.stdout + told.stderr, told
    told = stored.run("restore", tmp_path / "copy", "--data", tmp_path / "other")
    assert told.returncode != 0 and "pg_restore" in told.stdout + told.stderr, told


def test_a_database_that_is_not_there_is_named(fresh, tmp_path):
    (tmp_path / "password").write_text("correct horse battery\n")
    told = fresh.run("setup", "--data", fresh.data, "--admin", "ada", "--password-file", tmp_path / "password",
                     "--token-out", fresh.token_file, "--store", "postgres://ann:s3cret@127.0.0.1:1/jobs")
    assert told.returncode != 0 and "127.0.0.1:1/jobs" in told.stderr and "s3cret" not in told.stderr, told
    told = fresh.run("server", "--data", fresh.data, "--store", "mysql://h/d")
    assert told.returncode != 0 and "postgres://" in told.stderr, told
