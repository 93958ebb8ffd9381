"""Tenants: the same names side by side, quotas in words, and a deletion in two steps that survives a crash."""

import contextlib
import datetime
import json
import sqlite3

import pytest

from harness import ON_POSTGRES, Duly, eventually
from postgres import ask

TICK = "job: tick\nmanual: true\noverlap: allow\nsh: {}\n"


def within(duly: Duly, tenant: str, *args, **more):
    return duly.run("--tenant", tenant, *args, **more)


def apply(duly: Duly, tenant: str, text: str, check: bool = True):
    path = duly.root / f"{tenant}-jobs.yaml"
    path.write_text(text)
    return within(duly, tenant, "job", "apply", "-f", path, "--yes", check=check)


def trigger(duly: Duly, tenant: str, job: str) -> int:
    return json.loads(within(duly, tenant, "job", "trigger", job, "--json", check=True).stdout)["id"]


def instance(duly: Duly, tenant: str, number: int) -> dict:
    return json.loads(within(duly, tenant, "instance", "show", number, "--json", check=True).stdout)


def why(duly: Duly, tenant: str, number: int) -> str:
    return within(duly, tenant, "why", number, check=True).stdout


def tenants(duly: Duly) -> list[str]:
    return [tenant["name"] for tenant in duly.json("tenant", "list")["items"]]


def nothing_is_left(duly: Duly):
    """Of tenants that are gone; what is for the whole installation has none, or number 0."""
    tables = ("variable", "secret", "access_grant", "api_token", "executor_token", "join_token", "pool")
    of_gone = "select count(*) from {0}{1} where tenant > 0 and tenant not in (select id from {0}tenant)"
    if ON_POSTGRES:
        counts = {table: int(ask(duly.env["DULY_STORE"], of_gone.format("duly.", table))) for table in tables}
    else:
        with contextlib.closing(sqlite3.connect(duly.data / "duly.db")) as store:
            counts = {table: store.execute(of_gone.format("", table)).fetchone()[0] for table in tables}
    assert not any(counts.values()), counts


@pytest.fixture
def two(duly):
    """Tenants north and south beside the first; the local agent is there for all."""
    for name in ("north", "south"):
        duly.run("tenant", "create", name, check=True)
    agent = duly.json("agents", "list")["items"][0]["id"]
    duly.run("agents", "share", agent, "--everyone", check=True)
    return duly


def test_names_are_each_tenants_own_and_foreign_things_are_not_there(two):
    apply(two, "north", TICK.format("echo north"))
    apply(two, "south", TICK.format("echo south"))
    north, south = trigger(two, "north", "tick"), trigger(two, "south", "tick")
    for tenant, number in (("north", north), ("south", south)):
        eventually(lambda: instance(two, tenant, number)["state"] == "succeeded", f"{tenant}'s run ends")
        assert within(two, tenant, "log", number, check=True).stdout == f"{tenant}\n"
    # Nobody meets what is another's, not even the first tenant.
    assert within(two, "south", "instance", "show", north).returncode == 3
    assert two.run("job", "show", "tick").returncode == 3
    assert [one["id"] for one in json.loads(within(two, "north", "instance", "list", "--json").stdout)["items"]] == [north]
    assert within(two, "west", "job", "list").returncode == 4


def test_its_own_tenant_sees_with_whom_an_agent_is_shared_and_nobody_else_does(two):
    [agent] = two.json("agents", "list")["items"]
    assert agent["sharing"] == {"everyone": True, "tenants": []}
    two.run("agents", "share", agent["id"], "--tenants", "north,south", check=True)
    assert two.json("agents", "show", agent["id"])["sharing"] == {"everyone": False, "tenants": ["north", "south"]}
    assert "north, south" in two.run("agents", "show", agent["id"], check=True).stdout
    [seen] = json.loads(within(two, "north", "agents", "list", "--json", check=True).stdout)["items"]
    assert seen["id"] == agent["id"] and "sharing" not in seen
    [told, *_] = [item["entry"] for item in two.json("audit", "list", "--operation", "agent_share")["items"]]
    assert (told["before"]["everyone"], told["after"]["tenants"]) == (True, ["north", "south"])


def test_quotas_are_said_in_words(two):
    two.run("tenant", "set", "north", "--jobs", 1, "--running", 1, check=True)
    apply(two, "north", TICK.format("sleep 60"))
    refused = apply(two, "north", "job: tock\nmanual: true\nsh: 'true'\n", check=False)
    assert refused.returncode == 1
    assert "E0925" in refused.stderr and "tenant north may have 1 jobs and has 1; with 1 more" in refused.stderr
    assert [job["name"] for job in json.loads(within(two, "north", "job", "list", "--json").stdout)["items"]] == ["tick"]

    first, second = trigger(two, "north", "tick"), trigger(two, "north", "tick")
    eventually(lambda: instance(two, "north", first)["state"] == "running", "the first runs")
    assert "tenant north may run 1 at once and does" in why(two, "north", second)
    apply(two, "south", TICK.format("true"))
    south = trigger(two, "south", "tick")
    eventually(lambda: instance(two, "south", south)["state"] == "succeeded", "the other tenant is not held back")
    shown = two.json("tenant", "show", "north")
    assert (shown["usage"]["jobs"], shown["usage"]["running"], shown["quotas"]["running"]) == (1, 1, 1)
    two.run("tenant", "set", "north", "--running", "none", "--per-second", 1, check=True)
    eventually(lambda: instance(two, "north", second)["state"] == "running", "without the quota it runs")
    for number in (first, second):
        within(two, "north", "instance", "stop", number, check=True)


def test_what_a_tenant_prints_beyond_its_bytes_is_left_out_and_said_so(two):
    two.run("tenant", "set", "north", "--log-bytes-per-day", "20kB", check=True)
    loud = "for n in $(seq 100); do printf '%0999d\\n' $n; done; echo end"
    for tenant in ("north", "south"):
        apply(two, tenant, TICK.format(json.dumps(loud)))
        number = trigger(two, tenant, "tick")
        eventually(lambda: instance(two, tenant, number)["state"] == "succeeded", "it is none of the run's business")
        printed = eventually(lambda: (text := within(two, tenant, "log", number).stdout) and ("end" in text or "left out" in text) and text, "the log")
        if tenant == "south":
            assert len(printed) == 100 * 1000 + 4
        else:
            assert printed.count("[left out: tenant north may keep 20000 bytes of logs a day]") == 1 and len(printed) < 21_000
    # Counted by the server that each log came to.
    kept = {tenant: sum(told.json()["usage"]["log_bytes_today"] for told in two.everywhere(f"/tenants/{tenant}")) for tenant in ("north", "south")}
    assert kept["north"] <= 20_000 < kept["south"]
    assert "of 20000 bytes" in two.run("tenant", "show", "north", check=True).stdout


def test_a_tenant_is_deleted_in_two_steps_and_a_crash_between_them_changes_nothing(two):
    apply(two, "north", TICK.format("sleep 60"))
    within(two, "north", "variable", "set", "zone", "east", check=True)
    within(two, "north", "secret", "set", "door", stdin="open-sesame", check=True)
    two.run("person", "create", "robot", "--service", check=True)
    within(two, "north", "grant", "create", "developer", "--person", "robot", check=True)
    assert "E0927" in two.run("tenant", "delete", "north").stderr, "nothing goes that was not exported"
    exported = two.run("tenant", "export", "north", check=True).stdout
    kinds = [json.loads(line)["kind"] for line in exported.splitlines()]
    packed = two.api("GET", "/tenants/north/export", headers={"accept-encoding": "gzip"})
    assert [json.loads(line)["kind"] for line in packed.text.splitlines()] == kinds, "the same to whoever wants it packed"
    assert kinds == ["job", "variable", "secret", "end"]
    assert "east" in exported and "open-sesame" not in exported
    eventually(lambda: two.json("tenant", "show", "north")["exported_at"], "the export is noted")
    number = trigger(two, "north", "tick")
    eventually(lambda: instance(two, "north", number)["state"] == "running", "it runs")

    told = two.json("tenant", "delete", "north")
    assert (told["state"], told["jobs"], told["open"]) == ("active", 1, 1) and told["confirm"]
    assert "E0926" in two.run("tenant", "delete", "north", "--confirm", "another-word").stderr
    assert "E0923" in two.run("tenant", "delete", "default").stderr
    closing = two.json("tenant", "delete", "north", "--confirm", told["confirm"])
    assert closing["state"] == "closing"
    two.kill_server()
    two.up()
    # What ran is waited for; nothing new is made meanwhile.
    assert "E0928" in apply(two, "north", TICK.format("true"), check=False).stderr
    assert "north" in tenants(two)
    eventually(lambda: instance(two, "north", number)["state"] == "running", "its run was waited for")
    within(two, "north", "instance", "stop", number, check=True)
    eventually(lambda: tenants(two) == ["default", "south"], "it is gone", within=40)
    assert within(two, "north", "job", "list").returncode == 4
    nothing_is_left(two)
    two.run("tenant", "create", "north", check=True)
    assert json.loads(within(two, "north", "job", "list", "--json", check=True).stdout)["items"] == []


def test_a_tenants_history_is_kept_for_as_many_days_as_it_may_have(two):
    """Its own only, and what ended lately stays; verify does not miss what is gone."""
    ago = lambda days: (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    listed = lambda tenant: {i["id"] for i in json.loads(within(two, tenant, "instance", "list", "--json", check=True).stdout)["items"]}
    old, recent = {}, {}
    for tenant in ("north", "south"):
        apply(two, tenant, TICK.format("echo hello"))
        for kept, days in ((old, 5), (recent, 1)):
            kept[tenant] = json.loads(within(two, tenant, "job", "trigger", "tick", "--planned-at", ago(days), "--json", check=True).stdout)["id"]
            eventually(lambda: instance(two, tenant, kept[tenant])["state"] == "succeeded", "it ends")
    two.run("tenant", "set", "north", "--history-days", 3, check=True)
    eventually(lambda: listed("north") == {recent["north"]}, "what is older goes")
    assert within(two, "north", "instance", "show", old["north"]).returncode != 0
    assert listed("south") == {old["south"], recent["south"]}, "the others keep theirs"
    refused = within(two, "north", "job", "trigger", "tick", "--planned-at", ago(5))
    assert refused.returncode != 0 and "history is kept back to" in refused.stdout + refused.stderr
    assert within(two, "north", "verify", "--from", ago(6)).returncode == 0
    assert "3 days" in two.run("tenant", "show", "north", check=True).stdout
    assert two.run("tenant", "set", "north", "--history-days", 0).returncode != 0
