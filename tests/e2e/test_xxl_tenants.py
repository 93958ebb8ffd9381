"""XXL-JOB executors of two tenants: each call with each kind of token, and nobody meets, moves or ends what is another's."""

import json

import pytest

from harness import eventually
from xxl_door import Door, handled
from xxl_stub import Executor

XXL_ENV = {"DULY_XXL_GUARD_MS": "60000"}
TENANTS = ("north", "south")


def within(duly, tenant: str, *args):
    return json.loads(duly.run("--tenant", tenant, *args, "--json", check=True).stdout)


def apply(duly, tenant: str, text: str):
    path = duly.root / f"{tenant}.yaml"
    path.write_text(text)
    return duly.run("--tenant", tenant, "job", "apply", "-f", path, "--yes")


def executors(duly, tenant: str) -> dict:
    return {a["name"]: a["pools"] for a in within(duly, tenant, "agents", "list")["items"] if a["kind"] == "executor"}


def state(duly, tenant: str, instance: int) -> str:
    return within(duly, tenant, "instance", "show", instance)["state"]


@pytest.fixture(scope="module")
def shops(xxl):
    """The same app, the same job, in two tenants; each with a token of its own."""
    made = {}
    for tenant in TENANTS:
        xxl.run("tenant", "create", tenant, "--private-network", "true", check=True)
        token = within(xxl, tenant, "xxl-token", "create")
        made[tenant] = Executor(Door(xxl.url, token["token"]), "shop").register(every=10)
        assert apply(xxl, tenant, made[tenant].job("sell")).returncode == 0
    yield made
    for stub in made.values():
        stub.close()


def running(xxl, shops, tenant: str) -> tuple[int, dict]:
    before = len(shops[tenant].runs())
    instance = within(xxl, tenant, "job", "trigger", "sell")["id"]
    return instance, shops[tenant].run(before + 1)


def test_the_same_app_in_two_tenants_is_two(xxl, shops):
    for tenant in TENANTS:
        assert executors(xxl, tenant) == {shops[tenant].address: ["shop"]}
    assert executors(xxl, "default") == {}
    for tenant in TENANTS:
        counts = {name: len(stub.runs()) for name, stub in shops.items()}
        instance, run = running(xxl, shops, tenant)
        shops[tenant].finish(run)
        eventually(lambda: state(xxl, tenant, instance) == "succeeded", "its own executor ran it")
        assert {name: len(stub.runs()) - counts[name] for name, stub in shops.items()} == {name: int(name == tenant) for name in TENANTS}


# ---- every call, by every kind of token


def bearers(xxl, shops) -> dict:
    """All that can be shown to the door, but north's own token."""
    own_pool = within(xxl, "north", "xxl-token", "create", "--pool", "another")["token"]
    revoked = within(xxl, "north", "xxl-token", "create")
    xxl.run("--tenant", "north", "xxl-token", "revoke", revoked["id"], "--yes", check=True)
    doors = {"south": shops["south"].door.token, "installation": xxl.door.token, "another pool": own_pool, "revoked": revoked["token"]}
    return {name: Door(xxl.url, token) for name, token in doors.items()} | {"nobody": Door(xxl.url, None)}


def test_nobody_else_ends_a_tenants_run(xxl, shops):
    instance, run = running(xxl, shops, "north")
    for name, door in bearers(xxl, shops).items():
        for code in (200, 500):
            answer = door.callback([handled(run, code, f"said by {name}")])
            assert answer.code == (500 if name in ("revoked", "nobody") else 200), name
        assert state(xxl, "north", instance) == "running", name
    shops["north"].finish(run, 200, "said by its own")
    eventually(lambda: state(xxl, "north", instance) == "succeeded", "its own word counts")
    assert within(xxl, "north", "instance", "show", instance)["message"] == "said by its own"
    refused = lambda: {item["entry"]["outcome"] for item in xxl.json("audit", "list", "--operation", "xxl_callback")["items"]}
    eventually(lambda: {"E0601", "E0602"} <= refused(), "both kinds of strangers are in the audit")


def test_nobody_else_sends_a_tenants_executor_away(xxl, shops):
    north = shops["north"]
    for door in bearers(xxl, shops).values():
        door.remove("shop", north.address)
    assert executors(xxl, "north") == {north.address: ["shop"]}
    instance, run = running(xxl, shops, "north")
    north.finish(run)
    eventually(lambda: state(xxl, "north", instance) == "succeeded", "it is still sent work")


def test_nobody_else_comes_into_a_tenants_pool(xxl, shops):
    """Whoever registers the same app, or even the same address, comes into a pool of their own tenant."""
    addresses = {"south": shops["north"].address, "installation": shops["north"].address}
    for name, door in bearers(xxl, shops).items():
        answer = door.register("shop", addresses.get(name, "http://127.0.0.1:9/"))
        assert answer.code == (200 if name in addresses else 500), (name, answer)
    assert executors(xxl, "north") == {shops["north"].address: ["shop"]}
    assert set(executors(xxl, "default")) == {shops["north"].address}
    assert set(executors(xxl, "south")) == {shops["south"].address, shops["north"].address}
    Door(xxl.url, shops["south"].door.token).remove("shop", shops["north"].address)
    xxl.door.remove("shop", shops["north"].address)
    here = lambda tenant: [a["name"] for a in within(xxl, tenant, "agents", "list")["items"] if (a["kind"], a["state"]) == ("executor", "online")]
    eventually(lambda: (here("default"), here("south")) == ([], [shops["south"].address]), "they left again")
    instance, run = running(xxl, shops, "north")
    shops["north"].finish(run)
    eventually(lambda: state(xxl, "north", instance) == "succeeded", "leaving elsewhere is not leaving here")


def test_a_job_follows_none_of_another_tenant(xxl, shops):
    """Case 34: a child of a foreign group is refused, like one that is not there."""
    assert apply(xxl, "north", shops["north"].job("only-in-north")).returncode == 0
    for name in ("only-in-north", "nowhere"):
        refused = apply(xxl, "south", shops["south"].job("late", f"after: {name}"))
        assert refused.returncode == 1 and "E0212" in refused.stderr, refused.stderr
    assert [job["name"] for job in within(xxl, "south", "job", "list")["items"]] == ["sell"]


def test_tokens_are_listed_and_revoked_in_their_tenant_only(xxl, shops):
    listed = {tenant: {token["id"] for token in within(xxl, tenant, "xxl-token", "list")["items"]} for tenant in TENANTS}
    assert listed["north"] and listed["south"] and not listed["north"] & listed["south"]
    [one, *_] = listed["north"]
    assert xxl.run("--tenant", "south", "xxl-token", "revoke", one, "--yes").returncode == 3
    assert one in {token["id"] for token in within(xxl, "north", "xxl-token", "list")["items"]}
