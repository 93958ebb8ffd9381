"""The store in PostgreSQL: the same installation with `--store`, and what happens when server or database die."""

import pathlib
import subprocess
import tempfile
import time

import pytest

import checker
from harness import Duly, eventually, seconds
from postgres import Postgres
from postgres_pair import Pair
from test_bad_days import fill, mounted, needs_root


@pytest.fixture
def short():
    """A directory with a short path, because the sockets of databases lie in it."""
    with tempfile.TemporaryDirectory(prefix="duly-pg-", ignore_cleanup_errors=True) as root:
        pathlib.Path(root).chmod(0o755)
        yield pathlib.Path(root)


@pytest.fixture
def database(short):
    one = Postgres(short / "pg")
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


@pytest.fixture(params=["its tables", "its log as well"])
def small_disk(request, short):
    """A database whose tables lie on a disk that can be filled; where its log lies there, too, it may end of that."""
    disk, log = short / "disk", short / "log"
    disk.mkdir()
    mounted("-t", "tmpfs", "-o", "size=96m", "duly-test", disk)
    disk.chmod(0o755)
    apart = request.param == "its tables"
    one = None
    try:
        one = Postgres(disk / "pg", made=("--wal-segsize=1", *(("--waldir", log) if apart else ())),
                       settings={"max_wal_size": "8MB", "min_wal_size": "4MB"}, owns=(log,))
        yield one.start(), disk, apart
    finally:
        if one:
            one.stop()
        subprocess.run(["umount", "-l", str(disk)])


@needs_root
def test_a_database_whose_disk_is_full_is_waited_for(small_disk, tmp_path):
    database, disk, apart = small_disk
    duly = Duly(tmp_path, env={"DULY_STORE": database.address}).setup().up()
    try:
        eventually(duly.agent_online, "the agent is online")
        traces = tmp_path / "trace"
        traces.mkdir()
        crowd = "\n---\n".join(f'job: crowd-{n}\ncron: {{ expr: "* * * * * ?", misfire: all }}\noverlap: allow\nnoop: true' for n in range(100))
        duly.apply(f'job: tells\ncron: {{ expr: "* * * * * ?", misfire: all }}\noverlap: allow\nsh: |\n  {checker.task(traces)}\n---\n{crowd}')
        eventually(lambda: len(checker.read(traces / "tells")) >= 2, "it runs")
        began, server = int(time.time()), duly.server_pid()
        filler = fill(disk)

        def trouble():
            health = duly.run("health")
            return health.returncode != 0 and ("disk is full" in health.stdout + health.stderr or not apart)
        eventually(trouble, "health says that the disk is full", within=90)
        assert duly.api("GET", "/ready", token=None).status_code == 503
        if apart:
            assert duly.run("instance", "list").returncode == 0, "what is there can be read"
            assert database.process.poll() is None
        assert duly.server_pid() == server and duly.server.poll() is None, "it waits, it does not die"
        filler.unlink()
        if database.process.poll() is not None:
            database.start()  # as whoever looks after it does
        eventually(duly.is_ready, "it is well again", within=60)
        back = time.time()
        eventually(lambda: checker.read(traces / "tells")[-1].start > back + 2, "tasks run again", within=60)
        for name in ["tells", *(f"crowd-{n}" for n in range(100))]:
            duly.run("job", "pause", name, check=True)
        eventually(lambda: not duly.instances(state="open"), "everything has ended", within=60)
        assert duly.server_pid() == server, "the same server all along"
        seen = duly.verify()
        assert seen["ok"] and seen["missed"] == seen["merged"] == 0, seen
        assert not checker.faults(checker.read(traces / "tells"), range(began, int(back) + 2), fences=False)
    finally:
        duly.stop()


def test_a_replica_given_by_mistake_is_named(short, tmp_path):
    pair = Pair(short / "pg").start()
    duly = Duly(tmp_path, env={"DULY_STORE": pair.first.address})
    try:
        duly.setup()
        replica = ("--store", pair.second.address)
        told = duly.run("server", "--data", duly.data, "--listen", "127.0.0.1:0", *replica)
        assert told.returncode == 1 and "point the store at the primary" in told.stderr and str(pair.second.root) in told.stderr, told
        told = duly.run("setup", "--data", tmp_path / "other", "--admin", "ada", "--password-file", tmp_path / "password", "--token-out",
                        tmp_path / "another-token", *replica)
        assert told.returncode == 1 and "point the store at the primary" in told.stderr, told

        # One that is made read-only under a running server, as a database that is about to move is.
        duly.up()
        eventually(duly.agent_online, "the agent is online")
        duly.apply('job: tick\ncron: { expr: "* * * * * ?", misfire: all }\noverlap: allow\nnoop: true')
        eventually(lambda: len(duly.instances("tick", state="succeeded")) >= 2, "it runs")
        pair.run("alter system set default_transaction_read_only = on")
        pair.run("select pg_reload_conf()")
        said = lambda: (health := duly.run("health")).returncode != 0 and "read-only" in health.stdout + health.stderr
        eventually(said, "health says that it is read-only", within=60)
        pair.run("alter system reset default_transaction_read_only")
        pair.run("select pg_reload_conf()")
        eventually(duly.is_ready, "it is well again", within=60)
        moment = time.time()
        eventually(lambda: len(ended_since(duly, "tick", moment)) >= 2, "it fires again by itself", within=60)
        no_second_is_missing(duly, "tick", int(moment))
    finally:
        duly.stop()
        pair.stop()


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
