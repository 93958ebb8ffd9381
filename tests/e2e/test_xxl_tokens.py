"""XXL-JOB conformance, who may speak (case 3 and the token rules): a door is open only to those it was opened for."""

import pytest

from harness import eventually
from xxl_door import TOKEN_HEADER, Door, handled
from xxl_stub import Executor

APP = {"registryGroup": "EXECUTOR", "registryKey": "some-app", "registryValue": "http://127.0.0.1:9/"}
XXL_ENV = {"DULY_XXL_GUARD_MS": "60000"}


def executors(duly) -> list:
    return [a["name"] for a in duly.api("GET", "/agents").json()["items"] if a.get("kind") == "executor"]


# ---- the door of the installation


def test_without_a_token_the_door_is_closed(fresh):
    """To every call, with every token, under every name; and it says what to do."""
    fresh.setup().up()
    for prefix in ("", "/xxl-job-admin"):
        for headers in ({}, {TOKEN_HEADER: ""}, {TOKEN_HEADER: "default_token"}, {TOKEN_HEADER: fresh.token_file.read_text()}):
            for call in ("registry", "registryRemove", "callback"):
                answer = Door(fresh.url, None, prefix).api(call, APP, headers=headers)
                assert answer.code == 500 and "not switched on" in answer.msg, (call, answer)
    assert executors(fresh) == []
    assert fresh.api("GET", "/version", token=None).status_code == 200, "our own API is not behind that door"


@pytest.mark.parametrize("token, flag", [("default_token", "--xxl-allow-default-token"), ("", "--xxl-allow-empty-token"), ("  ", "--xxl-allow-empty-token")])
def test_a_token_everybody_knows_is_refused_at_start(fresh, token, flag):
    fresh.setup()
    start = ("up", "--data", fresh.data, "--listen", f"127.0.0.1:{fresh.port}")
    path = fresh.root / "xxl-token"
    path.write_text(token + "\n")
    config = fresh.root / "duly.toml"
    config.write_text(f'[xxl]\ntoken = "{token}"\n')
    for told in (("--xxl-token", token), ("--xxl-token-file", path), ("--config", config)):
        done = fresh.run(*start, *told, timeout=30)
        assert done.returncode != 0, told
        assert flag in done.stderr and "panicked" not in done.stderr, (told, done.stderr)
    other = {"--xxl-allow-default-token", "--xxl-allow-empty-token"} - {flag}
    assert fresh.run(*start, "--xxl-token", token, *other, timeout=30).returncode != 0, "the wrong switch opens nothing"


def test_the_default_token_works_once_switched_on_by_name(fresh):
    fresh.setup().up("--xxl-token", "default_token", "--xxl-allow-default-token")
    door = Door(fresh.url, "default_token")
    assert door.register("some-app", "http://127.0.0.1:9/").code == 200
    assert executors(fresh) == ["http://127.0.0.1:9/"]
    assert door.api("registry", APP, headers={TOKEN_HEADER: "another"}).code == 500


def test_an_empty_token_takes_everybody_once_switched_on_by_name(fresh):
    """Case 3. Officially the sample configuration is enough for that; ours wants it said by name."""
    fresh.setup().up("--xxl-token", "", "--xxl-allow-empty-token")
    door = Door(fresh.url, None)
    for number, headers in enumerate(({}, {TOKEN_HEADER: ""}, {TOKEN_HEADER: "anything"})):
        assert door.register("some-app", f"http://127.0.0.1:{number + 1}/", headers=headers).code == 200
    assert len(executors(fresh)) == 3


def test_a_token_made_at_set_up_opens_the_door(fresh):
    (fresh.root / "password").write_text("correct horse battery\n")
    made = fresh.root / "xxl-token"
    fresh.run("setup", "--data", fresh.data, "--admin", "ada", "--password-file", fresh.root / "password",
              "--token-out", fresh.token_file, "--xxl-token-out", made, check=True)
    assert len(made.read_text().strip()) >= 16 and made.stat().st_mode & 0o077 == 0
    fresh.up()
    assert Door(fresh.url, made.read_text().strip()).register("some-app", "http://127.0.0.1:9/").code == 200
    assert Door(fresh.url, "guess").register("some-app", "http://127.0.0.1:9/").code == 500


def test_a_token_in_the_config_file(fresh):
    fresh.setup()
    config = fresh.root / "duly.toml"
    config.write_text('[xxl]\ntoken = "from-the-config"\n')
    fresh.up("--config", config)
    assert Door(fresh.url, "from-the-config").register("some-app", "http://127.0.0.1:9/").code == 200
    assert Door(fresh.url, "guess").register("some-app", "http://127.0.0.1:9/").code == 500


# ---- tokens of pools


@pytest.fixture(scope="module")
def two(xxl):
    """Two apps with a token each, and a stub of either."""
    stubs = {}
    for app in ("ours", "theirs"):
        made = xxl.api("POST", "/xxl-tokens", json={"pool": app})
        assert made.status_code in (200, 201), made.text
        assert made.json()["pool"] == app
        stubs[app] = Executor(Door(xxl.url, made.json()["token"]), app)
        stubs[app].id = made.json()["id"]
        stubs[app].register(every=10)
        xxl.apply(stubs[app].job(f"job-of-{app}"))
    yield stubs["ours"], stubs["theirs"]
    for stub in stubs.values():
        stub.close()


def test_a_token_of_one_pool_registers_only_there(xxl, two):
    ours, theirs = two
    for address in (ours.address, "http://127.0.0.1:9/"):
        assert ours.door.register("theirs", address).code == 500
    ours.door.remove("theirs", theirs.address)
    listed = {a["name"]: a["pools"] for a in xxl.api("GET", "/agents").json()["items"] if a.get("kind") == "executor"}
    assert listed == {ours.address: ["ours"], theirs.address: ["theirs"]}, "nobody came in and nobody was sent away"


def test_a_token_of_one_pool_cannot_end_anothers_run(xxl, two):
    """Numbers of runs are small and easily guessed."""
    ours, theirs = two
    instance = xxl.trigger("job-of-theirs")
    run = theirs.run_of(xxl.wait_state(instance, "running"))
    for code in (200, 500, 502):
        ours.door.callback([handled(run, code, "said by a stranger")])
    own = xxl.trigger("job-of-ours")
    mine = ours.run_of(xxl.wait_state(own, "running"))
    # One batch with both: the strange one is dropped, the own one taken.
    assert ours.door.callback([handled(run, 500, "again"), handled(mine, 200, "mine")]).code == 200
    assert xxl.ended(own)["message"] == "mine"
    assert xxl.json("instance", "show", instance)["state"] == "running"
    theirs.finish(run, 200, "said by its own")
    assert (xxl.ended(instance)["state"], xxl.json("instance", "show", instance)["message"]) == ("succeeded", "said by its own")


def test_the_token_of_the_installation_speaks_for_every_pool(xxl, two):
    ours, _ = two
    instance = xxl.trigger("job-of-ours")
    run = ours.run_of(xxl.wait_state(instance, "running"))
    assert xxl.door.callback([handled(run, 200, "")]).code == 200
    assert xxl.ended(instance)["state"] == "succeeded"


def test_each_executor_is_called_with_a_token_it_knows(xxl, two):
    """A pool with a token of its own is called with that one: its executors know no other."""
    for stub in two:
        before = len(stub.runs())
        instance = xxl.trigger(f"job-of-{stub.app}")
        run = stub.run(before + 1)
        assert stub.to("run")[-1].header(TOKEN_HEADER) == stub.door.token
        stub.finish(run, 200)
        assert xxl.ended(instance)["state"] == "succeeded"


def test_a_revoked_token_is_worthless_at_once(xxl):
    made = xxl.json("xxl-token", "create", "--pool", "short-lived")
    door = Door(xxl.url, made["token"])
    assert door.register("short-lived", "http://127.0.0.1:9/").code == 200
    assert made["id"] in [t["id"] for t in xxl.json("xxl-token", "list")["items"]]
    assert made["token"] not in xxl.run("xxl-token", "list", "--json", check=True).stdout, "secrets are not told again"
    xxl.run("xxl-token", "revoke", made["id"], "--yes", check=True)
    answer = door.register("short-lived", "http://127.0.0.1:9/")
    assert (answer.code, answer.msg) == (500, "The access token is wrong.")


def test_tokens_outlive_a_restart(xxl, two):
    ours, _ = two
    xxl.kill_server()
    xxl.up(*xxl.flags)
    assert ours.door.register("ours", ours.address).code == 200
    assert ours.door.register("theirs", ours.address).code == 500
    instance = xxl.trigger("job-of-ours")
    run = ours.run_of(eventually(lambda: (i := xxl.json("instance", "show", instance))["state"] == "running" and i, "it runs"))
    ours.finish(run, 200)
    assert xxl.ended(instance)["state"] == "succeeded"
