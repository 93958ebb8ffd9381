"""Backup while it works, restore under a higher term, and what is known and not known afterwards."""

import re
import shutil
import sqlite3

import pytest

from harness import Duly, embedded, eventually, seconds

pytestmark = embedded

TICK = 'job: tick\ncron: "* * * * * ?"\noverlap: allow\nnoop: true\n'
GATED = "overlap: allow\nsh: while [ ! -e {gate} ]; do sleep 0.1; done; echo done"


def ticks(duly):
    return sorted(seconds(i["planned_at"]) for i in duly.instances("tick") if i["state"] == "succeeded")


def term(duly) -> int:
    return duly.json("health")["health"]["shards"][0]["term"]


@pytest.fixture
def before(duly, tmp_path):
    """An installation with a task running, backed up while it ticks."""
    duly.apply(TICK)
    eventually(lambda: len(ticks(duly)) >= 2, "it ticks")
    duly.gate = tmp_path / "gate"
    duly.held = duly.apply_and_trigger("held", GATED.format(gate=duly.gate))
    duly.wait_state(duly.held, "running")
    duly.copy = tmp_path / "copy.db"
    duly.run("backup", "--output", duly.copy, check=True)
    return duly


def test_a_backup_is_one_whole_file_and_disturbs_nothing(before):
    with sqlite3.connect(before.copy) as db:
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
    db.close()
    assert (before.copy.stat().st_mode & 0o777) == 0o600, "it holds what the store holds"
    assert not before.copy.with_name("copy.db-wal").exists()
    kept = before.copy.read_bytes()
    again = before.run("backup", "--output", before.copy)
    assert again.returncode != 0 and str(before.copy) in again.stderr, "an earlier backup is not overwritten"
    assert before.copy.read_bytes() == kept
    count = len(ticks(before))
    eventually(lambda: len(ticks(before)) >= count + 2, "it ticks on")
    times = ticks(before)
    assert times == list(range(times[0], times[0] + len(times))), "no second was lost to the backup"
    before.gate.touch()
    assert before.ended(before.held)["state"] == "succeeded"


def test_restored_elsewhere_it_goes_on_and_knows_what_it_does_not_know(before, tmp_path):
    elsewhere = Duly(tmp_path / "elsewhere")
    elsewhere.root.mkdir()
    shutil.copy(before.token_file, elsewhere.token_file)
    old_term = term(before)
    try:
        done = elsewhere.run("restore", before.copy, "--data", elsewhere.data, check=True)
        # The held one, and perhaps a tick that was under way in the moment of the backup.
        assert re.search(r"\b[12] attempts were open", done.stdout), done.stdout
        before.kill_server()
        elsewhere.up()
        assert term(elsewhere) > old_term + 900, "no owner after the backup can have come this far"
        seen = elsewhere.json("instance", "show", before.held)
        assert seen["state"] in ("running", "dispatched") and "backup" in seen["uncertain"]["why"], seen
        assert "is not known" in elsewhere.run("why", before.held, check=True).stdout
        eventually(elsewhere.agent_online, "an agent of its own has joined")
        count = len(ticks(elsewhere))
        eventually(lambda: len(ticks(elsewhere)) >= count + 3, "it ticks on")
        known = before.held
        new = elsewhere.trigger("tick")
        assert new > known + (1 << 31), "ids given out since the backup are not given out again"
        elsewhere.run("instance", "resolve", known, "succeeded", check=True)
        assert elsewhere.ended(known)["state"] in ("succeeded", "forced")
        elsewhere.run("job", "pause", "tick", check=True)
        checked = elsewhere.verify()
        assert checked["ok"], checked["findings"]
    finally:
        elsewhere.stop()


def test_restored_in_place_it_finds_its_agent_and_tasks_again(before, tmp_path):
    """The agent outlived the restore: what the backup knows is adopted, what it never knew is told as an orphan."""
    gate = tmp_path / "gate-later"
    later = before.apply_and_trigger("later", GATED.format(gate=gate))
    before.wait_state(later, "running")
    agent = before.agent_pid()
    refused = before.run("restore", before.copy, "--data", before.data, "--replace")
    assert refused.returncode != 0 and str(before.server_pid()) in refused.stderr, "not under a running server"
    before.kill_server()
    refused = before.run("restore", before.copy, "--data", before.data)
    assert refused.returncode != 0 and "exists already" in refused.stderr, "not over a store, unless one says so"
    before.run("restore", before.copy, "--data", before.data, "--replace", check=True)
    assert list(before.data.glob("duly.db.before-*")), "the store that was there is kept"
    before.up()
    eventually(before.agent_online, "the agent is back")
    assert before.agent_pid() == agent
    eventually(lambda: "uncertain" not in before.json("instance", "show", before.held), "the agent was asked and has it")
    before.gate.touch()
    ended = before.ended(before.held)
    assert (ended["state"], ended["attempt_no"]) == ("succeeded", 1), ended
    assert before.run("instance", "show", later).returncode == 3, "the backup never knew it"
    gate.touch()

    def orphan():
        found = before.verify()["findings"]
        return [f for f in found if f["kind"] == "orphan"]
    assert eventually(orphan, "verify lists what nobody ordered", within=40)
    count = len(ticks(before))
    eventually(lambda: len(ticks(before)) >= count + 3, "it ticks on")
    before.run("job", "pause", "tick", check=True)
    others = [f for f in before.verify()["findings"] if f["kind"] != "orphan"]
    assert not others, others
    assert before.run("verify").returncode == 6
