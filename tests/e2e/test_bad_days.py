"""Bad days: each ends in a clear state or message, and nothing else is disturbed."""

import datetime
import errno
import hashlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import time

import pytest

import harness
from harness import Duly, Events, embedded, eventually, seconds

TICK = 'job: tick\ncron: "* * * * * ?"\noverlap: allow\nnoop: true\n'
FAULTS = os.environ.get("DULY_FAULTS_BIN", harness.BIN)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="SKIPPED LOUDLY: only root may mount; run this test as root")


def mounted(*args):
    done = subprocess.run(["mount", *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"SKIPPED LOUDLY: this machine does not let us mount: {done.stderr.strip()}")


def digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def succeeded(duly, job="tick"):
    return sorted(seconds(i["planned_at"]) for i in duly.instances(job) if i["state"] == "succeeded")


# ---- the disk


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "data"
    disk.mkdir()
    mounted("-t", "tmpfs", "-o", "size=48m", "duly-test", disk)
    one = Duly(tmp_path)
    try:
        yield one
    finally:
        one.stop()
        subprocess.run(["umount", "-l", str(disk)])


def fill(directory: pathlib.Path) -> pathlib.Path:
    filler = directory / "filler"
    with open(filler, "wb", buffering=0) as f:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    f.write(b"x" * size)
            except OSError as error:
                assert error.errno == errno.ENOSPC
    return filler


@embedded
@needs_root
def test_a_full_disk_stops_nothing_for_good(small_disk):
    duly = small_disk.setup().up()
    eventually(duly.agent_online, "the agent is online")
    duly.apply(TICK + "---\njob: script\ncron: \"* * * * * ?\"\noverlap: allow\nsh: echo hello\n")
    eventually(lambda: len(succeeded(duly)) >= 2 and len(succeeded(duly, "script")) >= 2, "both run")
    server = duly.server_pid()
    filler = fill(duly.data)

    def trouble():
        fill(duly.data) if filler.stat().st_size == 0 else None
        health = duly.run("health")
        return health.returncode != 0 and "full" in (health.stdout + health.stderr)
    eventually(trouble, "health says that the disk is full", within=30)
    assert duly.api("GET", "/ready", token=None).status_code == 503
    assert duly.server_pid() == server and duly.server.poll() is None, "it waits, it does not die"
    assert duly.run("instance", "list").returncode == 0, "what is there can be read"
    filler.unlink()
    eventually(duly.is_ready, "it is well again", within=30)
    said = duly.log_tail(10_000)
    assert "takes writes again" in said
    assert 1 <= said.count("once a minute") <= said.count("takes writes again") + 1, "told once, not five times a second"
    back = time.time()
    eventually(lambda: len([t for t in succeeded(duly) if t > back]) >= 3, "no-ops run again", within=30)
    eventually(lambda: len([t for t in succeeded(duly, "script") if t > back]) >= 3, "scripts run again", within=60)
    for job in ("tick", "script"):
        duly.run("job", "pause", job, check=True)
    eventually(lambda: not duly.instances(state="open"), "everything has ended", within=60)
    checked = duly.verify()
    assert checked["ok"], checked["findings"]
    times = sorted(seconds(i["planned_at"]) for i in duly.instances("tick"))
    assert len(times) == len(set(times)), "a planned second twice"
    assert duly.server_pid() == server


@embedded
@needs_root
def test_a_read_only_directory_is_named(fresh):
    fresh.setup()
    before = digest(fresh.data / "duly.db")
    mounted("--bind", fresh.data, fresh.data)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(fresh.data)], check=True)
        done = fresh.run("up", "--data", fresh.data, "--listen", f"127.0.0.1:{fresh.port}", timeout=30)
        assert done.returncode == 1
        assert str(fresh.data) in done.stderr and "ead-only" in done.stderr, done.stderr
        assert "panicked" not in done.stderr
    finally:
        subprocess.run(["umount", "-l", str(fresh.data)], check=True)
    assert digest(fresh.data / "duly.db") == before
    fresh.up()


def test_a_directory_that_cannot_be_made_is_named(fresh):
    done = fresh.run("up", "--data", "/proc/duly-data", "--listen", "127.0.0.1:0", timeout=30)
    assert done.returncode == 1 and "/proc/duly-data" in done.stderr and "panicked" not in done.stderr
    blocked = fresh.root / "a-file"
    blocked.write_text("not a directory")
    done = fresh.run("up", "--data", blocked, "--listen", "127.0.0.1:0", timeout=30)
    assert done.returncode == 1 and str(blocked) in done.stderr and "panicked" not in done.stderr


def test_a_taken_port_is_named(shared, fresh):
    fresh.setup()
    done = fresh.run("up", "--data", fresh.data, "--listen", f"127.0.0.1:{shared.port}", timeout=30)
    assert done.returncode == 1 and f"127.0.0.1:{shared.port}" in done.stderr, done.stderr


# ---- the file


@pytest.fixture(scope="module")
def used_store(tmp_path_factory):
    """The database of an installation that has run a while and was stopped as one should."""
    one = Duly(tmp_path_factory.mktemp("used")).setup().up()
    try:
        eventually(one.agent_online, "the agent is online")
        one.apply(TICK + "---\n" + "---\n".join(f"job: j{n}\ndescription: {'x' * 400}\nnoop: true\n" for n in range(200)))
        eventually(lambda: len(succeeded(one)) >= 2, "it runs")
        assert one.stop_politely() == 0
        yield one.data / "duly.db"
    finally:
        one.stop()


def refused(duly, *words):
    """Neither starts nor touches the file; says what is wrong."""
    path = duly.data / "duly.db"
    before = digest(path)
    done = duly.run("up", "--data", duly.data, "--listen", f"127.0.0.1:{duly.port}", timeout=60)
    assert done.returncode == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert "panicked" not in done.stderr
    assert digest(path) == before, "the file was touched"


def with_file(fresh, used_store, damage):
    fresh.data.mkdir(mode=0o700)
    path = fresh.data / "duly.db"
    shutil.copy(used_store, path)
    damage(path)
    return fresh


def overwrite(at, size):
    def damage(path):
        with open(path, "r+b") as f:
            f.seek(at if at >= 0 else path.stat().st_size + at)
            f.write(os.urandom(size))
    return damage


@embedded
def test_a_garbled_header_is_refused(fresh, used_store):
    refused(with_file(fresh, used_store, overwrite(0, 100)), "damaged", "duly.db", "duly restore")


@embedded
def test_garbage_in_the_middle_is_refused(fresh, used_store):
    everything_but_the_first_page = overwrite(8192, used_store.stat().st_size - 8192)
    refused(with_file(fresh, used_store, everything_but_the_first_page), "damaged", "duly.db", "duly restore")


@embedded
def test_half_a_file_is_refused(fresh, used_store):
    refused(with_file(fresh, used_store, lambda path: os.truncate(path, 8192 * 3)), "damaged", "duly.db")


@embedded
def test_a_file_that_is_no_database_is_refused(fresh, used_store):
    refused(with_file(fresh, used_store, lambda path: path.write_bytes(b"hello, world\n" * 1000)), "duly.db")


@embedded
def test_somebody_elses_database_is_refused(fresh, used_store):
    def other(path):
        path.unlink()
        with sqlite3.connect(path) as db:
            db.execute("create table theirs (x)")
        db.close()
    refused(with_file(fresh, used_store, other), "another program")


@embedded
def test_a_store_of_a_newer_duly_is_refused(fresh, used_store):
    def newer(path):
        with sqlite3.connect(path) as db:
            db.execute("pragma user_version = 99")
        db.close()
    refused(with_file(fresh, used_store, newer), "newer Duly", "99")


# ---- the clock


LIBRARY = next(iter([*pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), *pathlib.Path("/usr/lib").glob("faketime/libfaketimeMT.so.1")]), None)
needs_faketime = pytest.mark.skipif(LIBRARY is None, reason="SKIPPED LOUDLY: libfaketime is not installed (Debian: apt install faketime)")


class Clock:
    """The server's wall clock, and only the server's: its agent and we keep the real one."""

    def __init__(self, duly):
        self.file = duly.root / "clock"
        self.set(0)
        self.env = {"LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": str(self.file), "FAKETIME_NO_CACHE": "1",
                    "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1"}

    def set(self, ahead: int):
        fresh = self.file.with_suffix(".new")
        fresh.write_text(f"{ahead:+d}s\n")
        os.replace(fresh, self.file)


@pytest.fixture
def clocked(duly):
    """The agent was started by a server without tricks, and outlives it: the next server alone is lied to."""
    duly.kill_server()
    clock = Clock(duly)
    duly.up(env=clock.env)
    eventually(duly.agent_online, "the agent has found the new server")
    return duly, clock


def unique(duly, job="tick"):
    times = sorted(seconds(i["planned_at"]) for i in duly.instances(job))
    assert len(times) == len(set(times)), "a planned second twice"
    return times


@embedded
@needs_faketime
def test_a_clock_that_jumps_forward_leaves_a_gap_that_is_accounted_for(clocked):
    duly, clock = clocked
    duly.apply('job: tick\ncron: { expr: "* * * * * ?", misfire: once }\noverlap: allow\nnoop: true\n'
               '---\njob: misses\ncron: { expr: "0/5 * * * * ?", misfire: skip }\noverlap: allow\nnoop: true\n')
    eventually(lambda: len(succeeded(duly)) >= 3, "it ticks")
    with Events(duly) as events:
        clock.set(3600)
        events.wait("clock_jumped")
        ahead = time.time() + 3500
        eventually(lambda: len([t for t in succeeded(duly) if t > ahead]) >= 5, "it ticks in the new time")
    made_up = [i for i in duly.instances("tick") if i["cause"]["kind"] == "misfire"]
    assert len(made_up) == 1 and 3500 <= made_up[0]["cause"]["missed"] <= 3700, made_up
    eventually(lambda: any(t > ahead for t in succeeded(duly, "misses")), "the other job goes on")
    for job in ("tick", "misses"):
        duly.run("job", "pause", job, check=True)
    unique(duly), unique(duly, "misses")
    later = [t for t in unique(duly) if t > ahead + 60]
    assert later == list(range(later[0], later[0] + len(later))), "a second is missing after the jump"
    checked = json_verify(duly, "--from", "3h")
    assert checked["ok"], checked["findings"]
    assert checked["missed"] + checked["merged"] >= 3500, checked
    assert duly.run("health").returncode == 0


@embedded
@needs_faketime
def test_a_clock_that_jumps_back_makes_nothing_fire_twice(clocked):
    duly, clock = clocked
    clock.set(3600)  # a wrong clock to begin with, put right below
    eventually(lambda: "jumped" in duly.log_tail(), "the server has seen the wrong time")
    duly.apply('job: tick\ncron: { expr: "* * * * * ?", misfire: skip }\noverlap: allow\nnoop: true\n')
    eventually(lambda: len(succeeded(duly)) >= 3, "it ticks in the wrong time")
    with Events(duly) as events:
        clock.set(0)
        events.wait("clock_jumped")
    waits = len(unique(duly))
    instance = duly.apply_and_trigger("by_hand", "sh: echo still here")
    assert duly.ended(instance)["state"] == "succeeded", "what is asked for by hand goes on"
    assert len(unique(duly)) <= waits + 3, "decided up to two seconds ahead, then it waits for the clock"
    duly.kill_server()
    duly.up(env=clock.env)
    eventually(duly.agent_online, "the agent is back")
    assert duly.ended(duly.trigger("by_hand"))["state"] == "succeeded"
    assert len(unique(duly)) <= waits + 3, "a restart in the earlier time fires nothing twice either"
    clock.set(3660)
    before = time.time() + 3600
    eventually(lambda: len([t for t in succeeded(duly) if t > before]) >= 3, "when that time has come it goes on", within=60)
    duly.run("job", "pause", "tick", check=True)
    unique(duly)
    checked = json_verify(duly, "--from", "3h")
    assert checked["ok"], checked["findings"]


def json_verify(duly, *args):
    done = duly.run("verify", "--json", *args)
    assert done.returncode in (0, 6), done.stderr
    return json.loads(done.stdout)


# ---- the engine


def panics_on_purpose() -> bool:
    return subprocess.run(["grep", "-qa", "a job made to break the engine", FAULTS]).returncode == 0


def make_it_break(duly):
    """No job file may say what breaks the engine of a test build, so that nobody meets it by accident: it is put into the store."""
    with sqlite3.connect(duly.data / "duly.db") as db:
        marked = """update content set body = cast(replace(cast(body as text), '"priority":-987', '"priority":-66666') as blob)
                    where cast(body as text) like '%"when":%"priority":-987%'"""
        assert db.execute(marked).rowcount == 1
    db.close()


@embedded
@pytest.mark.skipif(not panics_on_purpose(), reason="SKIPPED LOUDLY: this binary was built without --features faults")
def test_a_job_that_breaks_the_engine_is_held_and_nothing_else(fresh, monkeypatch):
    monkeypatch.setattr(harness, "BIN", FAULTS)
    duly = fresh.setup().up()
    eventually(duly.agent_online, "the agent is online")
    duly.apply(TICK)
    eventually(lambda: len(succeeded(duly)) >= 2, "it ticks")
    duly.apply('job: breaks\ncron: "* * * * * ?"\npriority: -987\nnoop: true\n')
    duly.kill_server()
    make_it_break(duly)
    duly.up()

    def held():
        assert "deciding about it failed" in duly.run("why", "breaks", check=True).stdout
        kept = duly.json("quarantine")["items"]
        return [k for k in kept if k.get("job") == "breaks" and "a job made to break the engine" in k["error"]]

    def ticks_on():
        now = time.time()
        eventually(lambda: len([t for t in succeeded(duly) if t > now]) >= 3, "the other job goes on")
    eventually(held, "it is in quarantine")
    ticks_on()
    for _ in range(2):
        duly.kill_server()
        duly.up()
        assert held()
        ticks_on()
    with Events(duly) as events:
        duly.run("job", "release", "breaks")  # refused if it breaks at once, answered if it breaks a moment later
        events.wait("job_held", job="breaks")
    assert eventually(held, "it is held again")
    ticks_on()
    duly.apply('job: breaks\ncron: "* * * * * ?"\nnoop: true\n')
    duly.run("job", "release", "breaks", check=True)
    mended = time.time()
    eventually(lambda: any(t > mended for t in succeeded(duly, "breaks")), "mended and released, it runs")
    for job in ("tick", "breaks"):
        duly.run("job", "pause", job, check=True)
    times = succeeded(duly)
    assert times == list(range(times[0], times[0] + len(times))), "a second of the other job is missing"
    assert not duly.verify()["findings"], "times that passed in quarantine have their entries too"


# ---- the crowd


def test_ten_thousand_jobs_due_in_the_same_second(duly):
    count, every = 10_000, 30
    duly.apply("---\n".join(f'job: crowd-{n}\ncron: "0/{every} * * * * ?"\noverlap: allow\nnoop: true\n' for n in range(count)))
    due = (int(time.time()) // every + 1) * every
    window = {"from": f"{rfc3339(due)}", "to": f"{rfc3339(due + 1)}"}
    done = lambda: duly.api("GET", "/stats", params=window).json()["instances"].get("succeeded", 0) >= count
    eventually(done, "all of them have run", within=every + 60, every=0.5)
    listed = duly.instances(**window)
    assert sorted(i["job"] for i in listed) == sorted(f"crowd-{n}" for n in range(count)), "each once"
    assert {(i["state"], i["attempt_no"], seconds(i["planned_at"])) for i in listed} == {("succeeded", 1, due)}
    checked = json_verify(duly, "--from", window["from"], "--to", window["to"])
    assert checked["ok"] and checked["fired"] == count, checked


def rfc3339(at: int) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---- the end of an ordinary day


def test_a_polite_stop_leaves_tasks_running_and_says_nothing_bad(duly, tmp_path):
    gate = tmp_path / "gate"
    instance = duly.apply_and_trigger("goes_on", f"sh: while [ ! -e {gate} ]; do sleep 0.1; done")
    duly.wait_state(instance, "running")
    agent = duly.agent_pid()
    assert duly.stop_politely() == 0
    assert duly.agent_pid() == agent, "the agent and its tasks outlive the server"
    assert not re.search("panicked|ERROR|did not end in time", duly.log_tail(200)), duly.log_tail()
    gate.touch()
    duly.up()
    assert duly.ended(instance)["state"] == "succeeded"
