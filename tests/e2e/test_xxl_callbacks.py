"""XXL-JOB conformance, results (cases 12 to 22): every SDK's words are understood, each run ends once, and as told first."""

import json
import threading

import pytest

from harness import eventually
from xxl_door import DIALECTS, FAIL, TIMEOUT, WELL, both, executed_content, handled, listed, listed_item
from xxl_stub import BUSY, HANG_UP, held, ok

GUARD = 1.5  # seconds; 45 outside tests
XXL_ENV = {"DULY_XXL_GUARD_MS": str(int(GUARD * 1000))}


def started(duly, stub, keys: str = "", name: str | None = None) -> tuple[int, dict]:
    """An instance of a job of this stub's, and its run as ordered."""
    name = name or stub.app
    duly.apply(stub.job(name, keys))
    instance = duly.trigger(name)
    return instance, stub.run_of(duly.wait_state(instance, "dispatched", "running"))


def end(duly, instance: int) -> tuple:
    seen = duly.ended(instance)
    return seen["state"], seen["exit_code"], seen.get("message") or ""


@pytest.fixture
def stub(executor):
    return executor().register(every=10)


# ---- 12, 13, 14, 15: the shapes


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_result_in_every_dialect_ends_its_run(xxl, stub, dialect):
    instance, run = started(xxl, stub)
    stub.finish(run, WELL, "12 rows", dialect)
    assert end(xxl, instance) == ("succeeded", 200, "12 rows")
    badly = xxl.trigger(stub.app)
    stub.finish(stub.run(2), FAIL, "java.lang.IllegalStateException: 夜间\n\tat Demo.java:7", dialect)
    assert end(xxl, badly) == ("failed", 500, "java.lang.IllegalStateException: 夜间\n\tat Demo.java:7")
    assert xxl.json("instance", "show", badly)["reason"] == "exit"


def test_old_words_only(xxl, stub):
    """Case 13: 2.2 and one Go client say nothing but this, the text in the content."""
    instance, run = started(xxl, stub)
    stub.door.callback([executed_content(run, 200, "success")])
    assert end(xxl, instance) == ("succeeded", 200, "success")


def test_the_new_form_wins_over_the_old_one(xxl, stub):
    instance, run = started(xxl, stub)
    stub.door.callback([{**both(run, 200, "inner"), "handleCode": 500, "handleMsg": "outer"}])
    assert end(xxl, instance) == ("failed", 500, "outer")


def test_the_list_of_35_without_its_times(xxl, stub):
    instance, run = started(xxl, stub)
    item = listed_item(run, 200, "listed")
    del item["logDateTime"]
    assert stub.door.callback(listed(item)).code == 200
    assert end(xxl, instance) == ("succeeded", 200, "listed")


# ---- 16


@pytest.mark.parametrize("told, shown", [({"rows": 3, "ok": True}, '{"rows":3,"ok":true}'), ([1, 2], "[1,2]"), (42, "42"), (True, "true"), (None, ""), ("", "")])
def test_what_handlers_return_is_shown_as_text(xxl, stub, told, shown):
    instance, run = started(xxl, stub)
    stub.finish(run, WELL, told)
    state, code, message = end(xxl, instance)
    assert (state, code) == ("succeeded", 200)
    assert message == shown if not isinstance(told, dict) else json.loads(message) == told


# ---- 17


def test_a_batch_with_an_unknown_run_in_it(xxl, stub):
    first, one = started(xxl, stub)
    second = xxl.trigger(stub.app)
    two = stub.run(2)
    stranger = {**one, "logId": 2_000_000_000}
    answer = stub.door.callback([handled(one, 200, "one"), handled(stranger, 200, "?"), handled(two, 500, "two")])
    assert answer.code == 200
    assert end(xxl, first) == ("succeeded", 200, "one")
    assert end(xxl, second) == ("failed", 500, "two")


def test_results_are_on_disk_when_they_are_acknowledged(xxl, stub):
    """No second look is needed: what was answered is what is shown."""
    for number in range(1, 6):
        instance, run = started(xxl, stub)
        stub.finish(run, 200, f"{number}")
        assert xxl.json("instance", "show", instance)["state"] == "succeeded"


# ---- 18


def test_only_the_first_of_two_results_counts(xxl, stub):
    xxl.apply(stub.job(stub.app) + f"---\njob: after-{stub.app}\nafter: {{ job: {stub.app}, on: end }}\nnoop: true\n")
    instance = xxl.trigger(stub.app)
    run = stub.run()
    stub.finish(run, 200, "first")
    stub.finish(run, 500, "second")
    assert stub.door.callback([handled(run, 502, "third"), handled(run, 200, "fourth")]).code == 200
    assert end(xxl, instance) == ("succeeded", 200, "first")
    # A later run is followed too: by then a doubled follower of the first would have been there.
    again = xxl.trigger(stub.app)
    stub.finish(stub.run(2), 200, "")
    causes = eventually(lambda: len(seen := [i["cause"] for i in xxl.instances(f"after-{stub.app}", state="succeeded")]) >= 2 and seen, "both are followed")
    assert sorted(cause["instance"] for cause in causes) == [instance, again]
    assert end(xxl, instance) == ("succeeded", 200, "first")


def test_twice_in_one_batch(xxl, stub):
    instance, run = started(xxl, stub)
    assert stub.door.callback([handled(run, 200, "first"), handled(run, 500, "second")]).code == 200
    assert end(xxl, instance) == ("succeeded", 200, "first")


# ---- 19


def test_a_stopped_run_stays_stopped_whatever_is_told_later(xxl, stub):
    """Officially a kill is a failure, and retried; ours is a stop, and is not."""
    instance, run = started(xxl, stub, "retry: { times: 2, delay: 0s }")
    xxl.wait_state(instance, "running")
    xxl.run("instance", "stop", instance, check=True)
    [kill] = eventually(lambda: stub.to("kill"), "the executor is told to stop it")
    assert kill.json() == {"jobId": run["jobId"]}
    stub.finish(run, 500, "scheduling center kill job. [job running, killed]")
    stopped = xxl.ended(instance)
    assert (stopped["state"], stopped["attempt_no"]) == ("stopped", 1)
    stub.finish(run, 200, "late")
    seen = xxl.json("instance", "show", instance)
    assert (seen["state"], seen["attempt_no"], seen["ended_at"]) == ("stopped", 1, stopped["ended_at"])
    assert len(stub.runs()) == 1, "what a person stopped is not tried again"


def test_a_stop_that_nobody_confirms_ends_all_the_same(xxl, stub):
    """One SDK drops what it killed without a word."""
    instance, run = started(xxl, stub, "stop_grace: 1s")
    xxl.run("instance", "stop", instance, check=True)
    eventually(lambda: stub.to("kill"), "the executor is told to stop it")
    stopped = xxl.ended(instance, within=GUARD * 8)
    assert stopped["state"] == "stopped"
    stub.finish(run, 200, "late")
    assert xxl.json("instance", "show", instance)["state"] == "stopped"


def test_a_kill_takes_along_all_the_executor_has_of_the_job(xxl, stub):
    """It names the job, not the run: what else of it is there will not end by itself any more."""
    xxl.apply(stub.job(stub.app, "stop_grace: 1s") + "---\n" + stub.job(f"other-{stub.app}"))
    first, second, other = xxl.trigger(stub.app), xxl.trigger(stub.app), xxl.trigger(f"other-{stub.app}")
    stub.run(3)
    for instance in (first, second, other):
        xxl.wait_state(instance, "running")
    xxl.run("instance", "stop", first, check=True)
    assert xxl.ended(first)["state"] == "stopped"
    swept = xxl.ended(second)
    assert swept["state"] in ("stopped", "failed"), swept
    assert xxl.json("instance", "show", other)["state"] == "running"
    stub.finish(next(run for run in stub.runs() if run["jobId"] != stub.run()["jobId"]), 200)
    assert xxl.ended(other)["state"] == "succeeded"


# ---- 20


def test_a_long_message_is_cut(xxl, stub):
    text = "".join(f"{number:05}|" for number in range(10_000))
    instance, run = started(xxl, stub)
    stub.finish(run, 500, text)
    state, code, message = end(xxl, instance)
    assert (state, code) == ("failed", 500)
    assert 1_000 <= len(message) < len(text)
    assert message.startswith(text[:900]), "what is kept is how it began"
    wide = xxl.trigger(stub.app)
    stub.finish(stub.run(2), 500, "夜" * 60_000)
    assert end(xxl, wide)[2].startswith("夜" * 300), "no letter is cut in half"


# ---- 21


def test_a_result_may_overtake_the_answer_to_its_order(xxl, stub):
    gate = threading.Event()
    stub.on("run", held(gate), ok())
    instance, run = started(xxl, stub)
    stub.finish(run, 200, "quick")
    early = xxl.ended(instance)
    gate.set()
    # By the end of a later run the answer has been read.
    xxl.trigger(stub.app)
    stub.finish(stub.run(2), 200, "")
    late = xxl.json("instance", "show", instance)
    for seen in (early, late):
        assert (seen["state"], seen["message"], seen["agent"], seen["attempt_no"]) == ("succeeded", "quick", stub.address, 1), seen
        assert seen["ordered_at"] is not None and seen["started_at"] is not None
    assert [run["logId"] for run in stub.runs()].count(run["logId"]) == 1


def test_a_result_counts_though_the_order_was_never_answered(xxl, stub):
    stub.on("run", HANG_UP)
    instance, run = started(xxl, stub)
    stub.finish(run, 200, "done anyway")
    assert end(xxl, instance) == ("succeeded", 200, "done anyway")
    assert len(stub.runs()) == 1


# ---- 22


def test_a_timeout_is_a_failure_and_is_tried_again(xxl, stub):
    instance, run = started(xxl, stub, "timeout: 7s\nretry: { times: 1, delay: 0s }")
    assert run["executorTimeout"] == 7
    stub.finish(run, TIMEOUT, "job execute timeout ")
    again = stub.run(2)
    assert again["logId"] > run["logId"] and again["jobId"] == run["jobId"]
    stub.finish(again, TIMEOUT, "job execute timeout ")
    seen = xxl.ended(instance)
    assert (seen["state"], seen["reason"], seen["exit_code"], seen["attempt_no"]) == ("dead", "timeout", 502, 2), seen
    attempts = sorted(xxl.json("instance", "attempts", instance)["items"], key=lambda a: a["number"])
    assert attempts[0]["verdict"] == "timed_out" and [a["id"] for a in attempts] == [run["logId"], again["logId"]]
    alone, run = started(xxl, stub, name=f"alone-{stub.app}")
    stub.finish(run, TIMEOUT, "job execute timeout ")
    assert (xxl.ended(alone)["state"], xxl.json("instance", "show", alone)["reason"]) == ("failed", "timeout")


def test_a_timeout_the_executor_does_not_keep_is_kept_for_it(xxl, stub):
    """One SDK only cancels a context and never tells: the run is killed and ends as timed out."""
    stub.on("idleBeat", BUSY)
    instance, run = started(xxl, stub, "timeout: 1s\nstop_grace: 1s")
    seen = xxl.ended(instance, within=1 + GUARD * 10)
    assert (seen["state"], seen["reason"]) == ("failed", "timeout"), seen
    assert [call.json() for call in stub.to("kill")] == [{"jobId": run["jobId"]}]
    stub.finish(run, 200, "late")
    assert xxl.json("instance", "show", instance)["state"] == "failed"


# ---- over a restart of the admin; last, because it disturbs the others


def test_results_find_their_runs_over_a_restart(xxl, stub, executor):
    """What was running is not sent again, and ends as its executor says, whether it says so now or has kept it meanwhile."""
    xxl.apply(stub.job(stub.app))
    stub.on("idleBeat", BUSY)
    hung = executor("hung-app").on("run", HANG_UP).on("idleBeat", BUSY).register(every=1)
    xxl.apply(hung.job("hung-job"))
    instances = [xxl.trigger(stub.app), xxl.trigger(stub.app), xxl.trigger("hung-job")]
    runs = [stub.run(1), stub.run(2), hung.run(1)]
    xxl.wait_state(instances[0], "running"), xxl.wait_state(instances[1], "running")
    xxl.kill_server()
    stub.result = (200, "kept")
    stub.finish_by_itself(runs[0])
    xxl.up(*xxl.flags)
    assert end(xxl, instances[0]) == ("succeeded", 200, "kept")
    for instance in instances[1:]:
        assert xxl.json("instance", "show", instance)["state"] in ("dispatched", "running")
    stub.finish(runs[1], 500, "after all")
    hung.finish(runs[2], 200, "though it was never answered")
    assert end(xxl, instances[1]) == ("failed", 500, "after all")
    assert end(xxl, instances[2]) == ("succeeded", 200, "though it was never answered")
    fresh = xxl.trigger(stub.app)
    stub.run(3)
    assert end(xxl, fresh)[0] == "succeeded"
    assert len(stub.runs()) == 3 and len(hung.runs()) == 1, "nothing was sent twice"
