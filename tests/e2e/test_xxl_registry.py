"""XXL-JOB conformance, registry and door (cases 1 to 11): whoever says it is there is sent work, whatever SDK it speaks."""

import pytest

from harness import eventually, one_server
from xxl_door import APP_HEADER, OLD_TOKEN_HEADER, TOKEN_HEADER

DEATH = 3.0  # seconds without a beat; 90 outside tests
XXL_ENV = {"DULY_XXL_DEATH_MS": str(int(DEATH * 1000)), "DULY_XXL_GUARD_MS": "1500"}
XXL_FLAGS = ("--xxl-prefix", "/old/scheduler")

WRONG_TOKEN = "The access token is wrong."


def executors(duly) -> dict:
    """Their states by their addresses."""
    return {a["name"]: a["state"] for a in duly.api("GET", "/agents").json()["items"] if a.get("kind") == "executor"}


def registration(stub) -> dict:
    return {"registryGroup": "EXECUTOR", "registryKey": stub.app, "registryValue": stub.address}


def reaches(duly, stub, name: str | None = None) -> dict:
    """A run of its app arrives there, and its result is taken."""
    name = name or f"reach-{stub.app}"
    duly.apply(stub.job(name))
    before = len(stub.runs())
    instance = duly.trigger(name)
    run = stub.run(before + 1)
    stub.finish(run, 200, "here")
    assert duly.ended(instance)["state"] == "succeeded"
    return run


# ---- 1


@pytest.mark.parametrize("prefix", ["/xxl-job-admin", "", "/old/scheduler"])
def test_a_registration_under_every_prefix_makes_an_address_routable(xxl, executor, prefix):
    stub = executor()
    stub.door.prefix = prefix
    stub.register(every=1)
    assert executors(xxl)[stub.address] == "online"
    reaches(xxl, stub)


# ---- 2


def test_a_missing_or_wrong_token_is_refused(xxl, executor):
    stub = executor()
    for headers in ({}, {TOKEN_HEADER: "wrong"}, {TOKEN_HEADER: ""}, {TOKEN_HEADER: xxl.door.token + "x"}, {OLD_TOKEN_HEADER: "wrong"}):
        for call in ("registry", "registryRemove", "callback"):
            body = [] if call == "callback" else registration(stub)
            answer = xxl.door.api(call, body, headers=headers)
            assert (answer.code, answer.msg) == (500, WRONG_TOKEN), (call, headers, answer)
    assert stub.address not in executors(xxl)


@pytest.mark.parametrize("name", [OLD_TOKEN_HEADER, TOKEN_HEADER.lower(), OLD_TOKEN_HEADER.lower()])
def test_the_token_is_found_under_its_old_name_and_in_any_case(xxl, executor, name):
    stub = executor()
    assert xxl.door.register(stub.app, stub.address, headers={name: xxl.door.token}).code == 200
    assert executors(xxl)[stub.address] == "online"


def test_both_token_headers_at_once(xxl, executor):
    stub = executor()
    headers = {TOKEN_HEADER: xxl.door.token, OLD_TOKEN_HEADER: xxl.door.token}
    assert xxl.door.register(stub.app, stub.address, headers=headers).code == 200


# ---- 4, 5, 6: what is asked wrongly is told so, with HTTP 200


def test_another_method_is_refused(xxl):
    for method in ("GET", "PUT", "DELETE"):
        answer = xxl.door.api("registry", b"", method=method)
        assert (answer.code, answer.msg) == (500, "invalid request, HttpMethod not support."), (method, answer)


def test_an_unknown_call_is_refused(xxl):
    for prefix in ("", "/xxl-job-admin", "/old/scheduler"):
        answer = xxl.door.call(f"{prefix}/api/nope", {"a": 1})
        assert (answer.code, answer.msg) == (500, "invalid request, uri-mapping(nope) not found."), answer
    empty = xxl.door.call("/xxl-job-admin/api/", {"a": 1})
    assert (empty.code, empty.msg) == (500, "invalid request, uri-mapping empty."), empty


@pytest.mark.parametrize("blank", ["registryGroup", "registryKey", "registryValue"])
@pytest.mark.parametrize("call", ["registry", "registryRemove"])
def test_a_blank_field_is_refused(xxl, executor, call, blank):
    stub = executor()
    for value in ("", "  ", None):
        answer = xxl.door.api(call, {**registration(stub), blank: value})
        assert (answer.code, answer.msg) == (500, "Illegal Argument."), answer
    left_out = {key: value for key, value in registration(stub).items() if key != blank}
    assert xxl.door.api(call, left_out).msg == "Illegal Argument."
    assert stub.address not in executors(xxl)


def test_nonsense_is_answered_and_harms_nobody(xxl, executor):
    stub = executor().register(every=1)
    for call in ("registry", "registryRemove", "callback"):
        for body in (b"", b"{", b"\xff\xfe", b"null", b'"text"', b"7", b"[" * 10_000):
            assert xxl.door.api(call, body).code == 500, (call, body[:20])
    reaches(xxl, stub)


# ---- 7


@pytest.mark.parametrize("path, kind", [
    ("/xxl-job-admin/api/registry", None),
    ("/xxl-job-admin/api/registry", "text/plain"),
    ("/xxl-job-admin/api/registry", "application/json;charset=GBK"),
    ("//api/registry", "application/json"),
    ("/xxl-job-admin//api/registry", "application/json"),
    ("//xxl-job-admin//api//registry", "application/json"),
    ("/api/registry/", "application/json"),
    ("/xxl-job-admin/api/registry/", None),
    ("/api/registry?from=somewhere", "application/json"),
])
def test_paths_and_kinds_are_taken_as_they_come(xxl, executor, path, kind):
    stub = executor()
    assert xxl.door.call(path, registration(stub), kind=kind).code == 200
    assert executors(xxl)[stub.address] == "online"


def test_other_kinds_of_registration_are_heard_and_ignored(xxl, executor):
    stub = executor()
    assert xxl.door.register(stub.app, stub.address, group="ADMIN").code == 200
    assert stub.address not in executors(xxl)


# ---- 8


def test_the_silent_are_not_chosen_and_slow_beats_are_enough(xxl, executor):
    """The official 90 s and beats of up to 60 s, in proportion."""
    # The silent one is sorted first, so that the route would take it as long as it counted.
    silent, slow = sorted((executor(), executor()), key=lambda stub: stub.address)
    slow.register(every=DEATH * 60 / 90)
    silent.register()
    name = slow.app
    xxl.apply(slow.job(name, route="first"))
    silent.result = slow.result = (200, "")
    assert xxl.ended(xxl.trigger(name))["agent"] == silent.address, "alive, it comes first"
    eventually(lambda: executors(xxl).get(silent.address) != "online", "no beat for long enough", within=DEATH * 3)
    calls = len(silent.calls)
    for _ in range(5):
        assert executors(xxl)[slow.address] == "online"
        assert xxl.ended(xxl.trigger(name))["agent"] == slow.address
    assert len(silent.calls) == calls
    # Beyond one whole life more, the slow one is still there; then the silent one beats again and is first again.
    since = len(slow.runs())
    eventually(lambda: executors(xxl)[slow.address] == "online" and xxl.ended(xxl.trigger(name)) and len(slow.runs()) - since >= 8,
               "it is always chosen", every=DEATH / 6)
    silent.register()
    assert xxl.ended(xxl.trigger(name))["agent"] == silent.address, "one beat brings it back"


# ---- 9


def test_who_takes_leave_gets_nothing_more_at_once(xxl, executor):
    """Officially up to 30 s later; ours: when the leave is answered."""
    goes, stays = executor(result=(200, "")), executor(result=(200, ""))
    goes.register(every=1), stays.register(every=1)
    name = goes.app
    xxl.apply(goes.job(name, route="round"))
    for _ in range(2):
        xxl.ended(xxl.trigger(name))
    assert len(goes.runs()) == len(stays.runs()) == 1
    assert goes.leave().code == 200
    assert executors(xxl).get(goes.address) != "online"
    for _ in range(6):
        assert xxl.ended(xxl.trigger(name))["agent"] == stays.address
    assert len(goes.runs()) == 1


def test_leave_is_taken_under_the_words_of_the_registration(xxl, executor):
    """An address without a scheme is kept as it was written."""
    stub = executor(scheme="", slash="")
    stub.register()
    assert executors(xxl)[stub.address] == "online"
    assert stub.leave().code == 200
    assert executors(xxl).get(stub.address) != "online"
    assert stub.leave().code == 200, "twice is no mistake"


def test_a_run_waits_for_an_executor_that_comes(xxl, executor):
    stub = executor(result=(200, ""))
    xxl.apply(stub.job(stub.app))
    instance = xxl.trigger(stub.app)
    waiting = xxl.wait_state(instance, "ready")
    assert stub.app in waiting["why"], waiting
    stub.register(every=1)
    assert xxl.ended(instance)["agent"] == stub.address


# ---- 10


def test_an_executor_may_come_before_its_group(xxl, executor):
    """Our group is the pool of that name; it is there as soon as a job names it."""
    stub = executor().register(every=1)
    assert executors(xxl)[stub.address] == "online"
    reaches(xxl, stub)


# ---- 11


@pytest.mark.parametrize("path, slash, scheme, called", [
    ("/job", "", "http://", "/job/run"),
    ("/job", "/", "http://", "/job/run"),
    ("", "", "http://", "/run"),
    ("", "/", "http://", "/run"),
    ("", "", "", "/run"),
    ("/php-xxl-job", "/", "http://", "/php-xxl-job/run"),
])
def test_calls_go_below_the_registered_address(xxl, executor, path, slash, scheme, called):
    stub = executor(path=path, slash=slash, scheme=scheme).register(every=1)
    reaches(xxl, stub)
    assert [call.path for call in stub.to("run")] == [called]
    assert {call.header("Host") for call in stub.calls} == {f"127.0.0.1:{stub.port}"}


# ---- 3.5


@one_server
def test_an_executor_of_35_is_called_by_the_new_name(xxl, executor):
    """It says so by its header; every call to it carries token and app."""
    stub = executor(is_35=True).register(every=1)
    reaches(xxl, stub)
    assert not stub.to("run")
    [call] = stub.to("trigger")
    assert (call.header(TOKEN_HEADER), call.header(APP_HEADER)) == (xxl.door.token, stub.app)
