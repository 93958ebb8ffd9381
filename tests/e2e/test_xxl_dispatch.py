"""XXL-JOB conformance, orders (cases 23 to 26 and 33): what executors are sent, and what their answers mean."""

import threading

import pytest

from harness import eventually
from xxl_door import TOKEN_HEADER
from xxl_stub import BUSY, HANG_UP, NO_LOG, Reply, held, ok, refuse

GUARD = 1.5  # seconds; 45 outside tests
XXL_ENV = {"DULY_XXL_GUARD_MS": str(int(GUARD * 1000))}
KEYS = {"jobId", "executorHandler", "executorParams", "executorBlockStrategy", "executorTimeout", "logId", "logDateTime",
        "glueType", "glueSource", "glueUpdatetime", "broadcastIndex", "broadcastTotal"}
TEXTS = {"executorHandler", "executorParams", "executorBlockStrategy", "glueType", "glueSource"}


# ---- 23


def test_an_order_is_written_as_the_strictest_executor_wants_it(xxl, executor):
    stub = executor(result=(200, "")).register(every=10)
    xxl.apply(stub.job(stub.app, "timeout: 30s", params="a=1\n夜间"))
    instance = xxl.ended(xxl.trigger(stub.app))
    [call] = stub.to("run")
    assert call.line == "POST /run HTTP/1.1"
    assert b"\n" not in call.raw_head.replace(b"\r\n", b"")
    names = [name for name, _ in call.head]
    assert {"Content-Type", "Content-Length", TOKEN_HEADER, "Host"} <= set(names), names
    assert len({name.lower() for name in names}) == len(names), "no header comes twice"
    assert not {"transfer-encoding", "expect", "content-encoding"} & {name.lower() for name in names}
    assert call.header("Content-Type").startswith("application/json")
    assert call.header("Content-Length") == str(len(call.body))
    assert call.header(TOKEN_HEADER) == xxl.door.token
    run = call.json()
    assert set(run) == KEYS
    assert all(isinstance(run[key], str) for key in TEXTS) and all(type(run[key]) is int for key in KEYS - TEXTS), run
    job = xxl.api("GET", f"/jobs/{stub.app}").json()
    assert (run["jobId"], run["logId"]) == (job["xxl_job_id"], instance["attempt"])
    assert 0 < run["jobId"] < 2**31 and 0 < run["logId"] < 2**31
    assert (run["executorHandler"], run["executorParams"], run["executorTimeout"]) == ("demoJobHandler", "a=1\n夜间", 30)
    assert (run["glueType"], run["glueSource"], run["broadcastIndex"], run["broadcastTotal"]) == ("BEAN", "", 0, 1)
    assert run["executorBlockStrategy"] in ("SERIAL_EXECUTION", "DISCARD_LATER", "COVER_EARLY")
    assert abs(run["logDateTime"] / 1000 - call.at) < 10


@pytest.mark.parametrize("block, word", [("serial", "SERIAL_EXECUTION"), ("discard_later", "DISCARD_LATER"), ("cover_early", "COVER_EARLY")])
def test_block_strategies_are_told(xxl, executor, block, word):
    stub = executor(result=(200, "")).register(every=10)
    xxl.apply(f"job: {stub.app}\npool: {stub.app}\noverlap: allow\nexecutor: {{ handler: demo, block: {block} }}\n")
    xxl.ended(xxl.trigger(stub.app))
    assert stub.run()["executorBlockStrategy"] == word


@pytest.mark.parametrize("glue, word", [("groovy", "GLUE_GROOVY"), ("shell", "GLUE_SHELL"), ("python", "GLUE_PYTHON"), ("python2", "GLUE_PYTHON2"),
                                        ("node", "GLUE_NODEJS"), ("php", "GLUE_PHP"), ("powershell", "GLUE_POWERSHELL")])
def test_sources_travel_with_the_order(xxl, executor, glue, word):
    stub = executor(result=(200, "")).register(every=10)
    text = 'job: {name}\npool: {name}\noverlap: allow\nexecutor: {{ glue: {glue}, source: "echo {n}", params: x }}\n'
    xxl.apply(text.format(name=stub.app, glue=glue, n=1))
    for number in (1, 2):
        xxl.ended(xxl.trigger(stub.app))
    xxl.apply(text.format(name=stub.app, glue=glue, n=2))
    xxl.ended(xxl.trigger(stub.app))
    first, same, changed = stub.runs()
    assert (first["glueType"], first["glueSource"], first["executorParams"]) == (word, "echo 1", "x")
    assert 0 < first["glueUpdatetime"] == same["glueUpdatetime"] != changed["glueUpdatetime"] > 0, "an executor keeps a script until this changes"
    assert changed["glueSource"] == "echo 2" and first["jobId"] == changed["jobId"]


def test_one_connection_serves_many_orders(xxl, executor):
    stub = executor(result=(200, "")).register(every=10)
    xxl.apply(stub.job(stub.app))
    for _ in range(10):
        xxl.ended(xxl.trigger(stub.app))
    assert len(stub.runs()) == 10 and stub.links <= 2, stub.links


# ---- 24, 25: answers


@pytest.mark.parametrize("reply", [
    Reply({"code": 200, "msg": "Success", "data": None, "success": True, "more": [1]}, kind="text/plain", line_end="\n"),
    Reply(b'{"code":200}', kind="text/html;charset=UTF-8"),
    Reply(b' {"code":"200","msg":null}\n', kind="application/octet-stream"),
    Reply(b'{"code":200}', close=True),
    Reply({"code": 200}, raw=b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n7\r\n{"code"\r\n5\r\n:200}\r\n0\r\n\r\n'),
    Reply({"code": 200}, raw=b'HTTP/1.0 200 OK\n\n{"code":200}', close=True),
], ids=["plain with bare line feeds", "java", "code as text", "closing", "in chunks", "without a length"])
def test_any_well_meant_answer_is_understood(xxl, executor, reply):
    stub = executor().on("run", reply).register(every=10)
    xxl.apply(stub.job(stub.app))
    for number in (1, 2):
        instance = xxl.trigger(stub.app)
        xxl.wait_state(instance, "running")
        stub.finish(stub.run(number), 200, "well")
        assert xxl.ended(instance)["state"] == "succeeded"
    assert len(stub.runs()) == 2


@pytest.mark.parametrize("reply, words", [
    (Reply([{"logId": 1, "logDateTim": 1, "handleCode": 500, "handleMsg": "There are tasks running"}], kind="text/plain"), "There are tasks running"),
    (refuse("job handler [demoJobHandler] not found."), "job handler [demoJobHandler] not found."),
    (refuse("The access token is wrong."), "The access token is wrong."),
    (Reply(b"<html>boom</html>", status=500), "500"),
    (Reply({"code": 200}, status=503), "503"),
], ids=["an array", "no handler", "wrong token", "HTTP 500", "HTTP 503"])
def test_a_refusal_is_a_failure_with_its_words(xxl, executor, reply, words):
    stub = executor().on("run", reply).register(every=10)
    xxl.apply(stub.job(stub.app))
    seen = xxl.ended(xxl.trigger(stub.app))
    assert (seen["state"], seen["reason"]) == ("failed", "refused"), seen
    assert words in seen["message"] and seen["agent"] == stub.address, seen
    assert len(stub.to("run")) == 1


def test_a_refused_run_is_tried_again_as_the_job_says(xxl, executor):
    stub = executor().on("run", refuse("queue full"), ok()).register(every=10)
    xxl.apply(stub.job(stub.app, "retry: { times: 1, delay: 0s }"))
    instance = xxl.trigger(stub.app)
    stub.finish(stub.run(2), 200, "second time lucky")
    seen = xxl.ended(instance)
    assert (seen["state"], seen["attempt_no"], seen["message"]) == ("succeeded", 2, "second time lucky")
    attempts = sorted(xxl.json("instance", "attempts", instance)["items"], key=lambda a: a["number"])
    assert "queue full" in attempts[0]["message"]


def test_a_discarded_run_is_skipped_and_not_failed(xxl, executor):
    stub = executor().on("run", refuse("block strategy effect：Discard Later")).register(every=10)
    xxl.apply(f"job: {stub.app}\npool: {stub.app}\noverlap: allow\nretry: 2\nexecutor: {{ handler: demo, block: discard_later }}\n")
    assert xxl.ended(xxl.trigger(stub.app))["state"] == "skipped"
    assert len(stub.runs()) == 1, "what was to be discarded is not tried again"


@pytest.mark.parametrize("is_35, unknown, known", [(False, "run", "trigger"), (True, "trigger", "run")])
def test_an_executor_that_knows_the_other_name_is_called_by_it(xxl, executor, is_35, unknown, known):
    stub = executor(is_35=is_35, result=(200, "")).on(unknown, refuse(f"invalid request, uri-mapping(/{unknown}) not found.")).register(every=10)
    xxl.apply(stub.job(stub.app))
    seen = [xxl.ended(xxl.trigger(stub.app)) for _ in range(2)]
    assert [(i["state"], i["attempt_no"]) for i in seen] == [("succeeded", 1)] * 2
    assert [call.json()["logId"] for call in stub.to(known)] == [i["attempt"] for i in seen]
    assert len(stub.to(unknown)) <= 1, "it is remembered"


# ---- 26: no answer


def test_an_order_without_an_answer_is_uncertain_and_never_repeated(xxl, executor):
    """Officially "failed" while it may well be running; ours waits for what can be known."""
    stub = executor().on("run", HANG_UP).on("idleBeat", BUSY).register(every=10)
    other = executor(result=(200, "")).register(every=10)
    xxl.apply(stub.job(stub.app, "retry: { times: 1, delay: 0s }"))
    instance = xxl.trigger(stub.app, "--on", stub.address)
    run = stub.run()
    uncertain = eventually(lambda: (i := xxl.json("instance", "show", instance)).get("uncertain") and i, "it is uncertain")
    assert uncertain["uncertain"]["why"]
    # Longer than the guard: the executor says it is busy with that job, so nothing is concluded.
    asked = len(stub.to("idleBeat"))
    eventually(lambda: len(stub.to("idleBeat")) >= asked + 2, "it is asked again", within=GUARD * 10)
    assert xxl.json("instance", "show", instance)["state"] in ("dispatched", "running")
    stub.finish(run, 200, "it had run")
    seen = xxl.ended(instance)
    assert (seen["state"], seen["attempt_no"], seen["message"]) == ("succeeded", 1, "it had run")
    assert len(stub.runs()) == 1 and not other.runs()


def test_an_order_that_left_no_trace_is_sent_after_all(xxl, executor):
    """An executor that was seen busy and seen to keep logs is idle and has no log of it: it never had it. Known, not
    guessed, so that it costs no retry."""
    stub = executor().on("run", ok(), HANG_UP, ok()).on("idleBeat", BUSY).register(every=10)
    page = Reply({"code": 200, "content": {"fromLineNum": 1, "toLineNum": 1, "logContent": "began\n", "isEnd": False}})
    xxl.apply(stub.job(stub.app))
    earlier = xxl.trigger(stub.app)
    first = stub.run(1)
    stub.on("log", lambda call: page if call.json()["logId"] == first["logId"] else NO_LOG)
    eventually(lambda: stub.to("idleBeat"), "it is asked, and busy")
    assert "began" in xxl.run("log", earlier).stdout
    stub.on("idleBeat", ok()).finish(first, 200)
    xxl.ended(earlier)
    instance = xxl.trigger(stub.app)
    lost = stub.run(2)
    stub.finish(stub.run(3, within=GUARD * 20), 200, "at last")
    seen = xxl.ended(instance)
    assert (seen["state"], seen["message"]) == ("succeeded", "at last"), seen
    asked = next(call.json() for call in stub.to("log") if call.json()["logId"] == lost["logId"])
    assert asked["logDateTim"] == asked["logDateTime"] == lost["logDateTime"]


def test_a_refused_connection_moves_on_at_once(xxl, executor):
    """Officially only the failover route does; nobody has seen that run, so ours may always."""
    gone, there = sorted((executor(result=(200, "")), executor(result=(200, ""))), key=lambda stub: stub.address)
    gone.register(every=10), there.register(every=10)
    xxl.apply(gone.job(gone.app, route="first"))
    gone.vanish()
    seen = xxl.ended(xxl.trigger(gone.app), within=5)
    assert (seen["state"], seen["agent"]) == ("succeeded", there.address), seen
    gone.listen()
    gone.register()
    assert xxl.ended(xxl.trigger(gone.app))["agent"] == gone.address, "its next beat brings it back"


def test_a_slow_executor_delays_only_itself(xxl, executor):
    gate = threading.Event()
    slow = executor("slow-one").on("run", held(gate)).on("idleBeat", BUSY).register(every=10)
    quick = executor("quick-one", result=(200, "")).register(every=10)
    xxl.apply(slow.job("slow-job") + "---\n" + quick.job("quick-job"))
    waiting = [xxl.trigger("slow-job") for _ in range(20)]
    slow.run()
    for _ in range(10):
        assert xxl.ended(xxl.trigger("quick-job"), within=5)["state"] == "succeeded"
    assert xxl.json("instance", "show", waiting[0])["state"] == "dispatched"
    slow.result = (200, "")
    gate.set()
    assert all(xxl.ended(instance)["state"] == "succeeded" for instance in waiting)
    assert len({run["logId"] for run in slow.runs()}) == len(slow.runs()) == 20


# ---- 33


def test_a_manual_run_has_its_own_text_and_place(xxl, executor):
    one, two = executor(result=(200, "")).register(every=10), executor(result=(200, "")).register(every=10)
    xxl.apply(one.job(one.app, route="first", params="as always"))
    seen = xxl.ended(xxl.trigger(one.app, "--text", "", "--on", two.address))
    assert seen["agent"] == two.address and two.run()["executorParams"] == ""
    last = xxl.ended(xxl.trigger(one.app, "--text", "just once", "--on", one.address))
    assert last["agent"] == one.address and one.run()["executorParams"] == "just once"
    answer = xxl.api("POST", f"/jobs/{one.app}/trigger", json={"text": "through the API", "on": two.address})
    assert xxl.ended(answer.json()["id"])["agent"] == two.address and two.run(2)["executorParams"] == "through the API"
    plain = xxl.ended(xxl.trigger(one.app))
    runs = {run["logId"]: run for run in one.runs() + two.runs()}
    assert runs[plain["attempt"]]["executorParams"] == "as always", "the job itself is as it was"


def test_a_run_never_goes_to_an_address_nobody_registered(xxl, executor):
    """Whoever may start a job must not be able to send the token anywhere."""
    known, stranger = executor(result=(200, "")).register(every=10), executor("a-stranger")
    xxl.apply(known.job(known.app))
    answer = xxl.api("POST", f"/jobs/{known.app}/trigger", json={"on": stranger.address})
    if answer.ok:
        waiting = xxl.wait_state(answer.json()["id"], "ready", "failed", "dead")
        assert stranger.address in (waiting.get("why") or waiting.get("message")), waiting
        xxl.run("instance", "stop", waiting["id"])
    assert xxl.ended(xxl.trigger(known.app))["state"] == "succeeded"
    assert not stranger.calls
