"""What XXL-JOB executors do on bad days, beyond the letter of the conformance cases: nothing is doubled, in doubt, or shut out."""

import threading
import time

from harness import eventually
from xxl_door import TOKEN_HEADER
from xxl_stub import BUSY, HANG_UP, Reply, held, ok, refuse

GUARD = 1.5  # seconds; 45 outside tests
XXL_ENV = {"DULY_XXL_GUARD_MS": str(int(GUARD * 1000))}


def test_an_order_that_is_still_being_answered_is_not_sent_again(xxl, executor):
    """A slow executor has read it and not begun it: it is idle and has no log of it, and runs it all the same."""
    gate = threading.Event()
    stub = executor(result=(200, "slowly")).on("run", held(gate)).register(every=10)
    xxl.apply(stub.job(stub.app))
    instance = xxl.trigger(stub.app)
    stub.run()
    since = time.monotonic()
    eventually(lambda: len(stub.runs()) > 1 or time.monotonic() > since + GUARD * 2, "longer than anybody looks for traces")
    gate.set()
    seen = xxl.ended(instance)
    assert (seen["state"], seen["message"]) == ("succeeded", "slowly"), seen
    assert len(stub.runs()) == 1, [run["logId"] for run in stub.runs()]


def test_who_never_says_busy_and_never_shows_a_log_proves_nothing(xxl, executor):
    """One PHP SDK starts a run before it answers, calls itself idle whatever it does, and finds no log of anything: its
    unanswered run goes on, and must not be sent again."""
    idle = Reply({"code": 200}, kind="application/json")
    stub = executor().on("run", HANG_UP).on("idleBeat", idle).register(every=10)
    xxl.apply(stub.job(stub.app, "retry: { times: 1, delay: 0s }"))
    instance = xxl.trigger(stub.app)
    run, since = stub.run(), time.monotonic()
    eventually(lambda: len(stub.runs()) > 1 or time.monotonic() > since + GUARD * 3, "longer than anybody looks for traces")
    stub.finish(run, 200, "it ran all the while")
    seen = xxl.ended(instance)
    assert (seen["state"], seen["message"], seen["attempt_no"]) == ("succeeded", "it ran all the while", 1), seen
    assert len(stub.runs()) == 1


def test_what_is_in_doubt_says_what_happened(xxl, executor):
    """Case 26: the executor is there and could be asked; it hung up on the order, and that is what a person must know."""
    stub = executor().on("run", HANG_UP).on("idleBeat", BUSY).register(every=10)
    xxl.apply(stub.job(stub.app))
    instance = xxl.trigger(stub.app)
    told = eventually(lambda: xxl.json("instance", "show", instance).get("uncertain"), "it is uncertain")["why"]
    stub.finish(stub.run(), 200)
    assert "did not answer" in told, told


def test_a_connection_the_executor_has_closed_is_not_used(xxl, executor):
    """It closed it after its answer, although it had said otherwise: seen in time, so that the next run is not in doubt."""
    stub = executor(result=(200, "")).on("run", Reply({"code": 200}, drop=True)).register(every=10)
    xxl.apply(stub.job(stub.app))
    for _ in range(5):
        assert xxl.ended(xxl.trigger(stub.app))["state"] == "succeeded"
    assert not stub.to("log", "idleBeat"), "nobody had to look for traces"
    assert len(stub.runs()) == 5


def test_one_sdk_calls_a_killed_run_a_success(xxl, executor):
    """Case 19, as the Node SDK makes it: it tells 200 for a run it killed. A stop that was asked for is a stop."""
    stub = executor().register(every=10)
    xxl.apply(stub.job(stub.app))
    instance = xxl.trigger(stub.app)
    xxl.wait_state(instance, "running")
    xxl.run("instance", "stop", instance, check=True)
    eventually(lambda: stub.to("kill"), "the executor is told to stop it")
    stub.finish(stub.run(), 200, "is killed")
    assert xxl.ended(instance)["state"] == "stopped"


def test_a_token_can_be_changed_while_everything_runs(xxl, executor):
    """A new one is made, the executors are restarted with it, the old one is revoked: they are called with what they know."""
    stub = executor(result=(200, ""))

    def takes_only_its_own(call):
        return ok() if call.header(TOKEN_HEADER) == stub.door.token else refuse("The access token is wrong.")
    stub.on("run", takes_only_its_own)
    xxl.apply(stub.job(stub.app))
    first, second = (xxl.api("POST", "/xxl-tokens", json={"pool": stub.app}).json() for _ in range(2))
    for token in (first, second):
        stub.door.token = token["token"]
        stub.register()
        if token is second:
            xxl.run("xxl-token", "revoke", first["id"], "--yes", check=True)
        seen = xxl.ended(xxl.trigger(stub.app))
        assert seen["state"] == "succeeded", seen


def test_a_question_that_is_not_answered_is_asked_once(xxl, executor):
    """Case 27 with one that takes the question and hangs up: asked over a fresh connection, there is no reason to repeat it."""
    hung, live = executor(result=(200, "")).on("beat", HANG_UP), executor(result=(200, ""))
    xxl.api("PUT", f"/pools/{hung.app}", json={"limit": None, "addresses": [hung.address, live.address]})
    xxl.apply(hung.job(hung.app, route="failover"))
    assert xxl.ended(xxl.trigger(hung.app))["agent"] == live.address
    assert (len(hung.to("beat")), len(live.to("beat"))) == (1, 1)


def test_a_door_open_to_everybody_says_so(fresh):
    """Who switched on the well-known token, or none, is reminded at every start."""
    fresh.setup().up("--xxl-token", "default_token", "--xxl-allow-default-token")
    assert "default_token" in fresh.log_tail(1_000)
    fresh.stop()
    fresh.up("--xxl-token", "", "--xxl-allow-empty-token")
    assert "--xxl-allow-empty-token" in fresh.log_tail(1_000)
