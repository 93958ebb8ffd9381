"""XXL-JOB conformance, routes and followers (cases 27 to 32 and 34): who of many is chosen, and what comes after."""

import collections
import hashlib
import itertools

import pytest

from harness import eventually
from xxl_door import TOKEN_HEADER
from xxl_stub import BUSY, Reply, refuse

XXL_ENV = {"DULY_XXL_GUARD_MS": "1500"}


def three_of(executor, count: int = 3, **how) -> list:
    """Stubs of one app, sorted as their admin sorts them."""
    return sorted((executor(result=(200, ""), **how).register(every=10) for _ in range(count)), key=lambda stub: stub.address)


def triggers(duly, job: str, times: int) -> list[dict]:
    """One after the other, each ended before the next, through the API because there are many."""
    ends = []
    for _ in range(times):
        made = duly.api("POST", f"/jobs/{job}/trigger", json={})
        assert made.ok, made.text
        ends.append(eventually(lambda: (i := duly.api("GET", f"/instances/{made.json()['id']}").json())["ended_at"] and i, f"{job} ends", every=0.002))
    return ends


def typed_pool(duly, name: str, *addresses: str):
    """A pool with addresses typed by hand, in this order."""
    answer = duly.api("PUT", f"/pools/{name}", json={"limit": None, "addresses": list(addresses)})
    assert answer.status_code in (200, 204), answer.text


# ---- 27, 28: routes that ask first


def test_failover_asks_in_order_and_runs_on_the_first_alive(xxl, executor):
    dead, ill, live, never = (executor(result=(200, "")) for _ in range(4))
    dead.on("beat", Reply(b"oops", status=500))
    ill.on("beat", refuse("shutting down"))
    typed_pool(xxl, dead.app, dead.address, ill.address, live.address, never.address)
    xxl.apply(dead.job(dead.app, route="failover"))
    seen = xxl.ended(xxl.trigger(dead.app))
    assert (seen["state"], seen["agent"], seen["attempt_no"]) == ("succeeded", live.address, 1)
    beats = [stub.to("beat") for stub in (dead, ill, live, never)]
    assert [len(b) for b in beats] == [1, 1, 1, 0]
    assert beats[0][0].at <= beats[1][0].at <= beats[2][0].at
    assert [len(stub.runs()) for stub in (dead, ill, live, never)] == [0, 0, 1, 0]
    for call in (b[0] for b in beats[:3]):
        assert (call.line, call.json()) == ("POST /beat HTTP/1.1", {})
        assert call.header("Content-Type").startswith("application/json") and call.header(TOKEN_HEADER) == xxl.door.token
    for stub in (dead, ill, live):
        assert str(stub.port) in seen["why"], seen["why"]


def test_failover_passes_executors_that_are_gone(xxl, executor):
    gone, live = executor(), executor(result=(200, ""))
    gone.vanish()
    typed_pool(xxl, gone.app, gone.address, live.address)
    xxl.apply(gone.job(gone.app, route="failover"))
    seen = xxl.ended(xxl.trigger(gone.app))
    assert (seen["state"], seen["agent"]) == ("succeeded", live.address) and str(gone.port) in seen["why"], seen


def test_failover_with_nobody_alive_fails_and_tells_whom_it_asked(xxl, executor):
    dead, other = executor().on("beat", refuse("shutting down")), executor().on("beat", Reply(b"", status=503))
    typed_pool(xxl, dead.app, dead.address, other.address)
    xxl.apply(dead.job(dead.app, route="failover"))
    seen = xxl.ended(xxl.trigger(dead.app))
    assert (seen["state"], seen["reason"]) == ("failed", "refused")
    assert all(words in seen["message"] for words in (str(dead.port), "shutting down", str(other.port), "503")), seen["message"]
    assert not dead.runs() and not other.runs()


def test_busyover_takes_the_first_idle_one(xxl, executor):
    busy, idle, never = executor().on("idleBeat", BUSY), executor(result=(200, "")), executor()
    typed_pool(xxl, busy.app, busy.address, idle.address, never.address)
    xxl.apply(busy.job(busy.app, route="busy_over"))
    seen = xxl.ended(xxl.trigger(busy.app))
    assert (seen["state"], seen["agent"]) == ("succeeded", idle.address)
    asked = busy.to("idleBeat") + idle.to("idleBeat")
    assert [call.json() for call in asked] == [{"jobId": idle.run()["jobId"]}] * 2
    assert not busy.runs() and not never.calls
    assert BUSY.body["msg"] in seen["why"], seen["why"]
    placing = seen["placing"]
    assert (placing["pool"], placing["route"], placing["asked"]) == (busy.app, "busy_over", seen["why"]), placing


def test_busyover_with_all_busy_fails_with_the_collected_words(xxl, executor):
    one, two = executor().on("idleBeat", BUSY), executor().on("idleBeat", refuse("not now"))
    typed_pool(xxl, one.app, one.address, two.address)
    xxl.apply(one.job(one.app, route="busy_over"))
    seen = xxl.ended(xxl.trigger(one.app))
    assert (seen["state"], seen["reason"]) == ("failed", "refused")
    assert all(words in seen["message"] for words in (str(one.port), BUSY.body["msg"], str(two.port), "not now")), seen["message"]
    assert not one.runs() and not two.runs()


# ---- 29


def hashed(text: str) -> int:
    return int.from_bytes(hashlib.md5(text.encode()).digest()[:4], "little")


def chosen(job_id: int, addresses: list[str]) -> str:
    """The rule as it is written down, told independently of the server."""
    ring = sorted((hashed(f"SHARD-{address}-NODE-{node}"), address) for address in addresses for node in range(100))
    return next((address for at, address in ring if at >= hashed(str(job_id))), ring[0][1])


def test_the_rule_reproduces_the_known_vector():
    addresses = [f"http://10.0.0.{n}:9999/" for n in (1, 2, 3)]
    vector = [chosen(job, addresses) for job in range(1, 21)]
    assert [addresses.index(address) + 1 for address in vector] == [3, 3, 1, 3, 1, 3, 2, 2, 1, 1, 1, 1, 3, 3, 1, 2, 2, 1, 1, 1]
    moved = {job: addresses.index(chosen(job, addresses[:2])) + 1 for job in range(1, 21) if vector[job - 1] == addresses[2]}
    assert moved == {1: 1, 2: 1, 4: 2, 6: 1, 13: 1, 14: 1}


def test_consistent_hash_chooses_as_the_rule_says_and_moves_only_what_must(xxl, executor):
    stubs = three_of(executor)
    addresses = [stub.address for stub in stubs]
    names = [f"hashed-{number}" for number in range(20)]
    xxl.apply("---\n".join(stubs[0].job(name, route="consistent_hash") for name in names))
    ids = {name: xxl.api("GET", f"/jobs/{name}").json()["xxl_job_id"] for name in names}
    assert len(set(ids.values())) == 20
    before = {name: triggers(xxl, name, 1)[0]["agent"] for name in names}
    assert before == {name: chosen(ids[name], addresses) for name in names}
    stubs[2].leave()
    after = {name: triggers(xxl, name, 1)[0]["agent"] for name in names}
    assert after == {name: chosen(ids[name], addresses[:2]) for name in names}
    assert all(after[name] == before[name] for name in names if before[name] != addresses[2])


# ---- 30, 31


def test_round_takes_turns(xxl, executor):
    stubs = three_of(executor)
    xxl.apply(stubs[0].job(stubs[0].app, route="round"))
    took = [end["agent"] for end in triggers(xxl, stubs[0].app, 12)]
    assert [len(stub.runs()) for stub in stubs] == [4, 4, 4]
    assert took[:3] == took[3:6] == took[6:9] == took[9:], took


def test_first_and_last(xxl, executor):
    stubs = three_of(executor)
    for route, stub in (("first", stubs[0]), ("last", stubs[2])):
        xxl.apply(stub.job(f"{route}-of-three", route=route))
        assert {end["agent"] for end in triggers(xxl, f"{route}-of-three", 3)} == {stub.address}


def test_random_reaches_everybody(xxl, executor):
    stubs = three_of(executor)
    xxl.apply(stubs[0].job(stubs[0].app, route="random"))
    triggers(xxl, stubs[0].app, 60)
    assert all(5 <= len(stub.runs()) for stub in stubs), "one in a million of fair draws looks like this"


def test_least_recently_used_repeats_a_permutation(xxl, executor):
    stubs = three_of(executor)
    xxl.apply(stubs[0].job(stubs[0].app, route="least_recently_used"))
    took = [end["agent"] for end in triggers(xxl, stubs[0].app, 12)]
    assert len(set(took[:3])) == 3 and took == took[:3] * 4, took


def test_least_frequently_used_spreads_evenly(xxl, executor):
    stubs = three_of(executor)
    xxl.apply(stubs[0].job(stubs[0].app, route="least_frequently_used"))
    triggers(xxl, stubs[0].app, 300)
    counts = [len(stub.runs()) for stub in stubs]
    assert sum(counts) == 300 and max(counts) - min(counts) <= 2, counts


# ---- 32


def shares_of(duly, instance: int) -> list[dict]:
    return sorted(duly.json("instance", "list", "--parent", instance)["items"], key=lambda share: share["part"]["index"])


def test_a_broadcast_reaches_everybody_once(xxl, executor):
    stubs = three_of(executor)
    xxl.apply(stubs[0].job(stubs[0].app, route="broadcast"))
    instance = xxl.trigger(stubs[0].app)
    assert xxl.ended(instance)["state"] == "succeeded"
    runs = [stub.run() for stub in stubs]
    assert [(run["broadcastIndex"], run["broadcastTotal"]) for run in runs] == [(0, 3), (1, 3), (2, 3)]
    assert len({run["logDateTime"] for run in runs}) == 1 and len({run["jobId"] for run in runs}) == 1
    shares = shares_of(xxl, instance)
    assert [share["agent"] for share in shares] == [stub.address for stub in stubs]
    assert [share["attempt"] for share in shares] == [run["logId"] for run in runs], "a log of its own each"
    assert [len(stub.runs()) for stub in stubs] == [1, 1, 1]


def test_a_failed_share_alone_is_tried_again(xxl, executor):
    stubs = three_of(executor)
    fails = itertools.chain([(500, "not yet")], itertools.repeat((200, "")))
    stubs[1].result = lambda run: next(fails)
    xxl.apply(stubs[0].job(stubs[0].app, "retry: { times: 1, delay: 0s }", route="broadcast"))
    instance = xxl.trigger(stubs[0].app)
    assert xxl.ended(instance)["state"] == "succeeded"
    runs = sorted((run["logId"], run["broadcastIndex"], run["broadcastTotal"]) for stub in stubs for run in stub.runs())
    assert collections.Counter(index for _, index, _ in runs) == {0: 1, 1: 2, 2: 1}
    assert {total for *_, total in runs} == {3} and runs[-1][1] == 1
    assert [share["attempt_no"] for share in shares_of(xxl, instance)] == [1, 2, 1]


def test_a_broadcast_counts_who_is_there(xxl, executor):
    stubs = three_of(executor, 2)
    xxl.apply(stubs[0].job(stubs[0].app, route="broadcast"))
    xxl.ended(xxl.trigger(stubs[0].app))
    newcomer = executor(result=(200, "")).register(every=10)
    stubs[0].leave()
    instance = xxl.trigger(stubs[0].app)
    assert xxl.ended(instance)["state"] == "succeeded"
    assert len(stubs[0].runs()) == 1
    expected = sorted([stubs[1].address, newcomer.address])
    assert [share["agent"] for share in shares_of(xxl, instance)] == expected
    assert newcomer.run()["broadcastTotal"] == stubs[1].run(2)["broadcastTotal"] == 2


@pytest.mark.parametrize("each, times", [("true", 3), ("false", 1)])
def test_followers_of_a_broadcast(xxl, executor, each, times):
    """Officially after each share, once per executor; ours after all of them, or after each if that is wanted."""
    stubs = three_of(executor)
    name = stubs[0].app
    xxl.apply(stubs[0].job(name, route="broadcast") + f"---\njob: after-{name}\nafter: {{ job: {name}, each: {each} }}\noverlap: allow\nnoop: true\n")
    assert xxl.ended(xxl.trigger(name))["state"] == "succeeded"
    eventually(lambda: len(xxl.instances(f"after-{name}", state="succeeded")) == times, f"followed {times} times")
    # By the end of a second broadcast whatever the first has caused is there.
    assert xxl.ended(xxl.trigger(name))["state"] == "succeeded"
    eventually(lambda: len(xxl.instances(f"after-{name}", state="succeeded")) >= 2 * times, "followed again")
    assert len(xxl.instances(f"after-{name}")) == 2 * times


# ---- 34


def refused(duly, text: str) -> str:
    path = duly.root / "refused.yaml"
    path.write_text(text)
    done = duly.run("job", "apply", "-f", path, "--yes")
    assert done.returncode != 0, done.stdout
    return done.stderr


def test_whom_nobody_can_follow_is_refused_when_it_is_saved(xxl, executor):
    """Officially a list of numbers at the leader; ours is a name at the follower. What cannot be right is refused alike."""
    stub = executor()
    assert "nobody-there" in refused(xxl, stub.job("orphan", "after: nobody-there"))
    refused(xxl, stub.job("number", "after: 7"))
    refused(xxl, stub.job("own-tail", "after: own-tail"))
    xxl.apply(stub.job("tail-1") + "---\n" + stub.job("tail-2", "after: tail-1"))
    refused(xxl, stub.job("tail-1", "after: tail-2"))
    circle = "---\n".join(stub.job(f"circle-{n}", f"after: circle-{(n + 1) % 3}") for n in range(3))
    assert "would follow itself" in refused(xxl, circle), "officially it is saved, and runs for ever"
    names = {job["name"] for job in xxl.api("GET", "/jobs", params={"limit": 500}).json()["items"]}
    assert not names & {"orphan", "number", "own-tail", "circle-0", "circle-1", "circle-2"}


def test_two_followers_run_once_after_success_and_not_after_failure(xxl, executor):
    stub = executor(result=lambda run: (500 if run["executorParams"] == "fail" else 200, "") if run["executorHandler"] == "lead" else (200, "")).register(every=10)
    name = stub.app
    xxl.apply(stub.job(name, handler="lead") + "---\n" + stub.job("seven", f"after: {name}", handler="seven", params="own")
              + "---\n" + stub.job("eight", f"after: {name}", handler="eight"))
    badly = xxl.trigger(name, "--text", "fail")
    assert xxl.ended(badly)["state"] == "failed"
    well = xxl.trigger(name)
    assert xxl.ended(well)["state"] == "succeeded"
    for follower in ("seven", "eight"):
        eventually(lambda: xxl.instances(follower, state="succeeded"), f"{follower} follows")
        assert [i["cause"] for i in xxl.instances(follower)] == [{"kind": "after", "instance": well}]
    followed = [run for run in stub.runs() if run["executorHandler"] in ("seven", "eight")]
    assert sorted((run["executorHandler"], run["executorParams"]) for run in followed) == [("eight", ""), ("seven", "own")]
