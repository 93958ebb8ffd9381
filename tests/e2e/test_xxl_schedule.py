"""XXL-JOB conformance, time (cases 35 to 43): what fires when, judged by what an executor was sent."""

import datetime
import math
import re
import statistics
import time

import pytest

from harness import Duly, Events, eventually, seconds, one_server
from xxl_door import Door
from xxl_stub import BUSY, TOKEN, Executor, ok

DEATH, GUARD = 3.0, 1.5  # seconds; 90 and 45 outside tests
XXL_ENV = {"DULY_XXL_DEATH_MS": str(int(DEATH * 1000)), "DULY_XXL_GUARD_MS": str(int(GUARD * 1000))}
UTC = datetime.timezone.utc


def at(moment: float) -> str:
    return datetime.datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")


def one_shot(moment: float) -> str:
    """The one second as XXL-JOB's people write it: a cron expression with its year."""
    return datetime.datetime.fromtimestamp(moment, UTC).strftime("%S %M %H %d %m ? %Y")


def planned(runs: list[dict]) -> list[int]:
    """Their planned seconds; a run carries its own planned time in milliseconds."""
    return sorted(run["logDateTime"] // 1000 for run in runs)


@pytest.fixture(scope="module")
def minute(xxl):
    """Two jobs that fire beside all other tests of this file, and when they were applied."""
    stub = Executor(xxl.door, "minute", result=(200, "")).register(every=1)
    stub.applied = time.time()
    xxl.apply(stub.job("every-second", 'cron: "* * * * * ?"') + "---\n" + stub.job("every-fifth", 'cron: "0/5 * * * * ?"', handler="fifth"))
    yield stub
    stub.close()


def of(stub, handler: str) -> list:
    return [call for call in stub.to("run") if call.json()["executorHandler"] == handler]


@pytest.fixture(autouse=True)
def beside(minute):
    """The minute begins with the first test, whichever that is."""


# ---- 36, 38: over an absence


@pytest.fixture(scope="module")
def absent(tmp_path_factory, minute):
    """An installation that was dead while times passed."""
    one = Duly(tmp_path_factory.mktemp("absent"), env=XXL_ENV).setup()
    flags = ("--xxl-token", TOKEN)
    stub = Executor(Door(one.url, TOKEN), "absent", result=(200, ""))
    try:
        one.up(*flags)
        stub.register(every=0.5)
        one.apply(stub.job("rate", "every: { every: 3s, misfire: { rule: skip, grace: 1s } }", handler="rate"))
        eventually(lambda: len(of(stub, "rate")) >= 3, "the rate is kept")
        stub.first = first = math.ceil(time.time()) + 4
        stub.back = first + 12
        rule = "misfire: {{ rule: {}, grace: 5s }}"
        one.apply("---\n".join([
            stub.job("just-late", f'cron: {{ expr: "{one_shot(stub.back - 1)}", {rule.format("skip")} }}', handler="just-late"),
            stub.job("skips", f'every: {{ every: 14s, start: "{at(first)}", {rule.format("skip")} }}', handler="skips"),
            stub.job("makes-up", f'cron: {{ expr: "* * * * * ?", start: "{at(first)}", end: "{at(first + 5)}", {rule.format("once")} }}', handler="makes-up"),
        ]))
        one.kill_server()
        stub.killed = time.time()
        assert stub.killed < first - 2, "the machine is too slow for this test: times were planned before the kill"
        eventually(lambda: time.time() >= stub.back, "so much time passes", within=30)
        one.up(*flags)
        eventually(lambda: of(stub, "skips") and of(stub, "makes-up") and of(stub, "just-late"), "it fires again", within=30)
        eventually(lambda: len([c for c in of(stub, "rate") if c.at > stub.back]) >= 3, "the rate is kept again")
        yield one, stub
    finally:
        stub.close()
        one.stop()


def test_a_time_a_little_late_is_kept_at_once(absent):
    one, stub = absent
    assert len(of(stub, "just-late")) == 1
    [instance] = one.instances("just-late")
    assert (seconds(instance["planned_at"]), instance["cause"]) == (stub.back - 1, {"kind": "planned"})


@one_server
def test_a_time_long_past_is_skipped_if_the_job_says_so(absent):
    """XXL-JOB's DO_NOTHING; unlike there, what was missed can be looked up."""
    one, stub = absent
    runs = [call.json() for call in of(stub, "skips")]
    assert planned(runs)[0] == stub.first + 14, "the next is on schedule"
    checked = one.json("verify", "--job", "skips")
    assert checked["ok"] and checked["missed"] == 1, checked


@one_server
def test_times_long_past_are_made_up_for_once(absent):
    """XXL-JOB's FIRE_ONCE_NOW: one run typed misfire, however many were missed."""
    one, stub = absent
    [call] = of(stub, "makes-up")
    assert call.at >= stub.back
    [instance] = [i for i in one.instances("makes-up") if i["state"] == "succeeded"]
    assert instance["cause"] == {"kind": "misfire", "missed": 5}, instance


def test_a_fixed_rate_is_kept_and_not_doubled_by_a_restart(absent):
    one, stub = absent
    calls = of(stub, "rate")
    assert len({call.json()["logId"] for call in calls}) == len(calls)
    times = sorted(seconds(i["planned_at"]) for i in one.instances("rate"))
    assert len(times) == len(set(times)), times
    assert all((later - earlier) % 3 == 0 for earlier, later in zip(times, times[1:])), times
    for half in ([c.at for c in calls if c.at < stub.killed], [c.at for c in calls if c.at > stub.back + 3]):
        assert all(2 <= b - a <= 4 for a, b in zip(half, half[1:])), half
    found = [f for f in one.verify()["findings"] if f["job"] == "rate"]
    assert not found, found


# ---- 39


@pytest.mark.parametrize("expression, expected", [
    ("0 0 0 L * ?", ["2026-01-31T00", "2026-02-28T00", "2026-03-31T00", "2026-04-30T00", "2026-05-31T00"]),
    ("0 0 12 ? * 6#3", ["2026-01-16T12", "2026-02-20T12", "2026-03-20T12", "2026-04-17T12", "2026-05-15T12"]),
    ("0 0 0 LW * ?", ["2026-01-30T00", "2026-02-27T00", "2026-03-31T00", "2026-04-30T00", "2026-05-29T00"]),
    ("0 0 0 1 1 ? 2099", ["2099-01-01T00"]),
])
def test_the_next_five_are_those_of_quartz(xxl, expression, expected):
    told = xxl.json("next", expression, "-n", "5", "--from", "2026-01-15T00:00:00Z")["fires"]
    assert [fire["at"][:13] for fire in told] == expected
    assert all(re.match(r".*T\d\d:00:00(\.0+)?Z$", fire["at"]) for fire in told), told


@pytest.mark.parametrize("expression", ["0 0 0 1 1 1", "* * * * *", "", "tomorrow"])
def test_what_quartz_refuses_is_refused(xxl, minute, expression):
    path = xxl.root / "refused.yaml"
    path.write_text(minute.job("wrong", f'cron: "{expression}"'))
    done = xxl.run("job", "apply", "-f", path, "--yes")
    assert done.returncode != 0 and "E02" in done.stderr, done.stderr


# ---- 40


def test_a_single_time_ahead_fires_once(xxl, minute):
    when = math.ceil(time.time()) + 3
    xxl.apply(minute.job("single", f'cron: "{one_shot(when)}"', handler="single"))
    eventually(lambda: of(minute, "single"), "it fires")
    eventually(lambda: [c for c in of(minute, "demoJobHandler") if c.json()["logDateTime"] > (when + 2) * 1000], "time goes on")
    [call] = of(minute, "single")
    assert call.json()["logDateTime"] == when * 1000
    assert xxl.json("next", "single")["fires"] == []


def test_a_single_time_behind_never_fires(xxl, minute):
    """Officially such a job cannot be started; ours is accepted, and says that nothing is ahead."""
    xxl.apply(minute.job("behind", 'cron: "0 0 0 1 1 ? 2020"', handler="behind"))
    assert xxl.json("next", "behind")["fires"] == []
    assert "no planned time" in xxl.run("next", "behind").stdout
    assert not of(minute, "behind") and not xxl.instances("behind")


# ---- 41


def test_nothing_runs_after_a_stop_was_answered(xxl, minute):
    """Officially what is in the ring still fires for up to 5 s; ours: nothing."""
    xxl.apply(minute.job("halted", 'cron: "* * * * * ?"', handler="halted"))
    eventually(lambda: len(of(minute, "halted")) >= 2, "it fires")
    xxl.run("job", "pause", "halted", check=True)
    answered = time.time()
    eventually(lambda: [c for c in of(minute, "demoJobHandler") if c.json()["logDateTime"] > (answered + 5) * 1000], "five seconds go by elsewhere")
    late = [call.json()["logDateTime"] for call in of(minute, "halted") if call.json()["logDateTime"] > answered * 1000]
    assert not late, (answered, late)


# ---- 42


def test_a_run_whose_executor_is_gone_is_lost_and_one_that_is_busy_is_not(xxl, executor):
    """Officially 10 minutes (here 2 s) after the start, and only if it is not registered; addresses typed by hand are never
    registered there, so that their long runs fail falsely. Ours asks."""
    gone, busy = executor("gone-app").register(every=0.5), executor("busy-app").on("idleBeat", BUSY).register(every=0.5)
    typed = executor("typed-app").on("idleBeat", BUSY)
    answer = xxl.api("PUT", "/pools/typed-app", json={"limit": None, "addresses": [typed.address]})
    assert answer.ok, answer.text
    xxl.apply("---\n".join(stub.job(f"job-of-{stub.app}", "lost_after: 2s") for stub in (gone, busy, typed)))
    lost, kept, by_hand = (xxl.trigger(f"job-of-{stub.app}") for stub in (gone, busy, typed))
    run = [stub.run() for stub in (gone, busy, typed)]
    for instance in (lost, kept, by_hand):
        xxl.wait_state(instance, "running")
    gone.vanish()
    seen = xxl.ended(lost, within=DEATH * 5 + 10)
    assert (seen["state"], seen["reason"]) == ("failed", "lost"), seen
    # It is alive beyond that rule's time and beyond the guard's.
    asked = len(busy.to("idleBeat"))
    eventually(lambda: len(busy.to("idleBeat")) >= asked + 2 or time.time() - run[1]["logDateTime"] / 1000 > 10, "it is busy for long", within=30)
    assert xxl.json("instance", "show", kept)["state"] == "running"
    assert xxl.json("instance", "show", by_hand)["state"] == "running"
    for stub, order, instance in ((busy, run[1], kept), (typed, run[2], by_hand)):
        stub.finish(order, 200, "at last")
        assert (xxl.ended(instance)["state"], xxl.json("instance", "show", instance)["message"]) == ("succeeded", "at last")


def test_a_run_an_idle_executor_has_forgotten_is_lost(xxl, executor):
    """Officially it stays "running" for ever while the executor beats: it was restarted, or its result was lost on the way."""
    # An executor that was never busy proves nothing by being idle: some SDKs always say so.
    stub = executor().on("idleBeat", BUSY, BUSY, ok()).register(every=0.5)
    xxl.apply(stub.job(stub.app))
    instance = xxl.trigger(stub.app)
    stub.run()
    xxl.wait_state(instance, "running")
    seen = xxl.ended(instance, within=GUARD * 20)
    assert (seen["state"], seen["reason"]) == ("failed", "lost"), seen


# ---- 43


def test_three_tries_and_one_alarm(xxl, executor):
    """Officially an alarm for each of the three; ours one, when the last has failed."""
    stub = executor(result=(500, "no luck")).register(every=1)
    with Events(xxl) as events:
        xxl.apply(stub.job(stub.app, "retry: { times: 2, delay: 0s }"))
        instance = xxl.trigger(stub.app)
        events.wait("instance_ended", instance=instance)
        seen = xxl.ended(instance)
        assert (seen["state"], seen["attempt_no"], seen["message"]) == ("dead", 3, "no luck")
        again = xxl.trigger(stub.app)
        events.wait("instance_ended", instance=again)
        told = [event for event in events.seen if event["kind"] == "instance_ended" and event.get("instance") == instance]
    assert [event["state"] for event in told] == ["dead"]
    attempts = sorted(xxl.json("instance", "attempts", instance)["items"], key=lambda a: a["number"])
    assert [a["number"] for a in attempts] == [1, 2, 3] and [a["exit_code"] for a in attempts] == [500] * 3
    ids = [a["id"] for a in attempts]
    assert ids == sorted(ids) == [run["logId"] for run in stub.runs()][:3], "a log of its own each"


# ---- 37 and 35, last: the minute passes beside the other tests


def test_every_fifth_second(xxl, minute):
    """Officially nothing fires within 5 s of a start; ours keeps the first time ahead."""
    eventually(lambda: len(of(minute, "fifth")) >= 4, "four of them")
    times = planned([call.json() for call in of(minute, "fifth")])
    first = math.ceil(minute.applied / 5) * 5
    assert times[0] in (first, first + 5) and all(t % 5 == 0 for t in times), (minute.applied, times)
    shown = seconds(min(i["created_at"] for i in xxl.instances("every-fifth")))
    assert times[0] - shown <= 5 + 1, "the first time ahead"
    assert [b - a for a, b in zip(times, times[1:])] == [5] * (len(times) - 1), times


def test_every_second_of_a_minute(xxl, minute):
    """One admin; with two it belongs to the tests of the cluster."""
    calls = eventually(lambda: len(seen := of(minute, "demoJobHandler")) >= 60 and seen, "a minute of them", within=90)
    xxl.run("job", "pause", "every-second", check=True)
    eventually(lambda: not xxl.instances("every-second", state="open"), "all have ended")
    times = planned([call.json() for call in calls])
    assert times == list(range(times[0], times[0] + len(times))), "a second is missing or doubled"
    assert len({call.json()["logId"] for call in calls}) == len(calls)
    late = sorted(call.at - call.json()["logDateTime"] / 1000 for call in calls)
    assert late[0] >= -0.01 and statistics.median(late) < 0.5, late
    assert {i["state"] for i in xxl.instances("every-second")} == {"succeeded"}
    found = [f for f in xxl.verify()["findings"] if f["job"] in ("every-second", "every-fifth")]
    assert not found, found
