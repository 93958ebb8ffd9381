"""What Duly decides, seen from outside: overlap, retries, exclusion, deadlines, pauses, edits, broadcast, limits, order."""

import datetime
import time

import pytest

from harness import ON_POSTGRES, Events, eventually, seconds

# docs/cluster.md says so.
each_shard_for_itself = pytest.mark.xfail(ON_POSTGRES, reason="priorities are kept by each shard for itself", strict=True)

GATED = "sh: while [ ! -e {gate} ]; do sleep 0.05; done"


def why(duly, subject):
    return duly.run("why", subject, check=True).stdout


def gated(duly, tmp_path, name, extra=""):
    """A job whose instances run until the gate is opened."""
    gate = tmp_path / f"gate-{name}"
    duly.apply(f"job: {name}\n{extra}\n{GATED.format(gate=gate)}\n")
    return gate


# ---- overlap


def test_overlap_skip(shared, tmp_path):
    gate = gated(shared, tmp_path, "skips", "overlap: skip")
    first = shared.trigger("skips")
    shared.wait_state(first, "running")
    second = shared.ended(shared.trigger("skips"))
    assert second["state"] == "skipped" and f"instance {first}" in second["why"], second
    gate.touch()
    assert shared.ended(first)["state"] == "succeeded"


def test_overlap_queue_has_a_bound(shared, tmp_path):
    gate = gated(shared, tmp_path, "queues", "overlap: { queue: 2 }")
    first = shared.trigger("queues")
    shared.wait_state(first, "running")
    second, third = shared.trigger("queues"), shared.trigger("queues")
    assert [shared.json("instance", "show", i)["state"] for i in (second, third)] == ["ready", "ready"]
    assert f"waits for instance {first}" in why(shared, second)
    fourth = shared.ended(shared.trigger("queues"))
    assert fourth["state"] == "skipped" and "2 instances of the same job were waiting" in fourth["why"], fourth
    gate.touch()
    ends = [shared.ended(i) for i in (first, second, third)]
    assert [e["state"] for e in ends] == ["succeeded"] * 3
    for earlier, later in zip(ends, ends[1:]):
        assert earlier["ended_at"] <= later["started_at"], "they ran one after the other"


def test_overlap_replace(shared, tmp_path):
    gate = gated(shared, tmp_path, "replaces", "overlap: replace\nretry: { times: 2, delay: 10ms }\nstop_grace: 1s")
    first = shared.trigger("replaces")
    shared.wait_state(first, "running")
    second = shared.trigger("replaces")
    replaced = shared.ended(first)
    assert (replaced["state"], replaced["attempt_no"]) == ("stopped", 1), replaced
    gate.touch()
    followed = shared.ended(second)
    assert followed["state"] == "succeeded" and followed["started_at"] >= replaced["ended_at"]


def test_overlap_allow_with_a_bound(shared, tmp_path):
    gate = gated(shared, tmp_path, "side_by_side", "overlap: { allow: 2 }")
    ids = [shared.trigger("side_by_side") for _ in range(3)]
    shared.wait_state(ids[0], "running"), shared.wait_state(ids[1], "running")
    assert shared.json("instance", "show", ids[2])["state"] == "ready"
    gate.touch()
    assert all(shared.ended(i)["state"] == "succeeded" for i in ids)


def test_exclusive_waits(shared, tmp_path):
    gate = gated(shared, tmp_path, "alone", "exclusive: wait\noverlap: allow")
    first = shared.trigger("alone")
    shared.wait_state(first, "running")
    second = shared.trigger("alone")
    assert f"instance {first}" in why(shared, second)
    assert shared.json("instance", "show", second)["state"] == "ready"
    gate.touch()
    ends = shared.ended(first), shared.ended(second)
    assert ends[0]["ended_at"] <= ends[1]["started_at"]


# ---- failure


def test_retries_keep_their_delays_then_a_dead_letter_is_replayed(shared, tmp_path):
    good = tmp_path / "good"
    instance = shared.apply_and_trigger("tries", f"retry: {{ delays: [500ms, 1500ms] }}\nsh: test -e {good}")
    dead = shared.ended(instance)
    assert (dead["state"], dead["attempt_no"], dead["exit_code"]) == ("dead", 3, 1)
    attempts = sorted(shared.json("instance", "attempts", instance)["items"], key=lambda a: a["number"])
    assert [a["verdict"] for a in attempts] == ["failed"] * 3
    assert len({a["id"] for a in attempts}) == 3, "each attempt has a fence of its own"
    parse = lambda stamp: datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    gaps = [(parse(b["started_at"]) - parse(a["ended_at"])).total_seconds() for a, b in zip(attempts, attempts[1:])]
    assert 0.5 <= gaps[0] < 1.5 <= gaps[1] < 5, gaps
    assert instance in [i["id"] for i in shared.instances("tries", state="dead")]
    good.touch()
    shared.run("instance", "replay", instance, check=True)
    again = eventually(lambda: (i := shared.json("instance", "show", instance))["state"] == "succeeded" and i, "it ran again")
    assert (again["id"], again["planned_at"]) == (instance, dead["planned_at"])
    assert again["attempt"] > dead["attempt"]
    refused = shared.run("instance", "replay", instance)
    assert refused.returncode != 0, "what is no dead letter is not replayed"


def test_exit_codes_mean_what_the_job_says(shared):
    keys = "retry: { times: 2, delay: 10ms }\nexit: { warning: [3], final: [4] }\nparams: { code: 0 }\nsh: exit $DULY_PARAM_CODE"
    shared.apply(f"job: codes\noverlap: allow\n{keys}\n")
    ends = {code: shared.ended(shared.trigger("codes", "--param", f"code={code}")) for code in (0, 3, 4, 5)}
    assert [(ends[c]["state"], ends[c]["attempt_no"]) for c in (0, 3)] == [("succeeded", 1), ("warned", 1)]
    assert ends[4]["state"] in ("failed", "dead") and ends[4]["attempt_no"] == 1, "trying again would not help"
    assert (ends[5]["state"], ends[5]["attempt_no"]) == ("dead", 3)


def test_deadlines_are_told(shared, tmp_path):
    with Events(shared) as events:
        gate = gated(shared, tmp_path, "late", "overlap: queue\nnot_started_by: 300ms\nnot_finished_by: 600ms")
        first, second = shared.trigger("late"), shared.trigger("late")
        events.wait("not_finished_in_time", instance=first)
        events.wait("not_started_in_time", instance=second)
        assert not [e for e in events.seen if e["kind"] == "not_started_in_time" and e.get("instance") == first]
        gate.touch()
        assert all(shared.ended(i)["state"] == "succeeded" for i in (first, second)), "an event is not an end"


def test_events_name_their_job(shared):
    with Events(shared) as events:
        instance = shared.apply_and_trigger("told", "noop: true")
        assert events.wait("instance_ended", instance=instance)["job"] == "told"


# ---- time


def test_nothing_planned_after_the_answer_to_a_pause_starts(shared):
    shared.apply('job: pausing\ncron: "* * * * * ?"\noverlap: allow\nnoop: true\n')
    eventually(lambda: shared.instances("pausing", state="succeeded"), "it runs")
    shared.run("job", "pause", "pausing", check=True)
    answered = time.time()
    assert "paused" in why(shared, "pausing")
    manual = shared.ended(shared.trigger("pausing"))
    assert manual["state"] == "succeeded", "by hand it still runs"
    # Two planned seconds and more go by while it is paused: seen in another job's ledger.
    shared.apply('job: witness\ncron: "* * * * * ?"\noverlap: allow\nnoop: true\n')
    eventually(lambda: len([i for i in shared.instances("witness", state="succeeded") if seconds(i["planned_at"]) > answered + 1]) >= 2,
               "seconds go by")
    late = [i for i in shared.instances("pausing") if i["started_at"] and i["id"] != manual["id"] and seconds(i["planned_at"]) > answered]
    assert not late, late
    shared.run("job", "resume", "pausing", check=True)
    eventually(lambda: any(seconds(i["planned_at"]) > answered + 2 for i in shared.instances("pausing", state="succeeded")), "it goes on")
    shared.run("job", "pause", "pausing", check=True), shared.run("job", "pause", "witness", check=True)
    assert not shared.verify()["findings"]


def test_an_edit_changes_what_is_scheduled_already(shared, tmp_path):
    """Instances exist up to two seconds before their time; after an edit is answered only the new text runs."""
    trace = tmp_path / "trace"
    text = 'job: edited\ncron: "* * * * * ?"\noverlap: allow\nsh: echo {word} $DULY_PLANNED_AT >> {trace}\n'
    shared.apply(text.format(word="old", trace=trace))
    eventually(lambda: trace.exists() and "old" in trace.read_text(), "the first text runs")
    shared.apply(text.format(word="new", trace=trace))
    answered = time.time()
    eventually(lambda: trace.read_text().count("new") >= 3, "the new text runs")
    shared.run("job", "pause", "edited", check=True)
    words = [line.split() for line in trace.read_text().splitlines()]
    wrong = [at for word, at in words if word == "old" and seconds(at) > answered]
    assert not wrong, f"planned after the edit was answered, and ran the old text: {wrong}"
    times = [seconds(at) for _, at in words]
    assert sorted(times) == sorted(set(times)), "a planned second ran twice"
    assert not shared.verify()["findings"]


def test_a_job_follows_another(shared):
    shared.apply("""job: leads
params: { code: 0 }
sh: exit $DULY_PARAM_CODE
---
job: on_success
after: leads
noop: true
---
job: on_failure
after: { job: leads, on: failure }
noop: true
---
job: on_end
after: { job: leads, on: end }
noop: true
""")
    well = shared.trigger("leads")
    eventually(lambda: shared.instances("on_success", state="succeeded") and shared.instances("on_end", state="succeeded"), "both follow")
    assert not shared.instances("on_failure")
    badly = shared.trigger("leads", "--param", "code=1")
    eventually(lambda: shared.instances("on_failure", state="succeeded") and len(shared.instances("on_end", state="succeeded")) == 2, "both follow")
    assert [i["cause"] for i in shared.instances("on_success")] == [{"kind": "after", "instance": well}]
    assert [i["cause"] for i in shared.instances("on_failure")] == [{"kind": "after", "instance": badly}]


def test_the_next_times_are_told_as_they_will_come(shared):
    told = shared.json("next", "0 0 12 ? * MON", "-n", "3")
    moments = [datetime.datetime.fromisoformat(fire["at"].replace("Z", "+00:00")) for fire in told["fires"]]
    assert [(m.weekday(), m.hour) for m in moments] == [(0, 12)] * 3
    assert all(b - a == datetime.timedelta(days=7) for a, b in zip(moments, moments[1:]))


# ---- place


def test_waiting_says_what_for(shared):
    cases = {
        "pool: nowhere": "no agent has joined pool nowhere",
        "pool: { labels: { disk: gold } }": "carries the label disk=gold",
        "pool: { route: { fixed: nobody } }": "no agent is named nobody",
    }
    for n, (keys, words) in enumerate(cases.items()):
        instance = shared.apply_and_trigger(f"waits_{n}", f"{keys}\nnoop: true")
        shared.wait_state(instance, "ready")
        assert words in why(shared, instance), why(shared, instance)
        assert words in shared.json("instance", "show", instance)["why"]
        shared.run("instance", "stop", instance, check=True)


def test_limits_hold_and_say_so(shared, tmp_path):
    gate = gated(shared, tmp_path, "limited", "overlap: allow\nlimits: { job: 2 }")
    ids = [shared.trigger("limited") for _ in range(4)]
    shared.wait_state(ids[0], "running"), shared.wait_state(ids[1], "running")
    assert "may run 2 at once and does" in why(shared, ids[3])
    shared.run("limit", "set", "2", check=True)
    try:
        other = shared.apply_and_trigger("beside", "noop: true")
        assert "this installation may run 2 at once" in why(shared, other)
        gate.touch()
        assert all(shared.ended(i)["state"] == "succeeded" for i in [*ids, other])
    finally:
        shared.run("limit", "set", "none", check=True)


def test_a_pool_has_a_limit(shared, tmp_path):
    shared.run("pool", "set", "default", "--limit", "1", check=True)
    try:
        gate = gated(shared, tmp_path, "pooled", "overlap: allow")
        first, second = shared.trigger("pooled"), shared.trigger("pooled")
        shared.wait_state(first, "running")
        assert "pool default may run 1 at once" in why(shared, second)
        gate.touch()
        assert all(shared.ended(i)["state"] == "succeeded" for i in (first, second))
    finally:
        shared.run("pool", "set", "default", "--limit", "none", check=True)


@each_shard_for_itself
def test_priority_goes_first(shared, tmp_path):
    trace, gate = tmp_path / "trace", tmp_path / "gate"
    shared.run("limit", "set", "1", check=True)
    try:
        holder = shared.apply_and_trigger("holder", GATED.format(gate=gate))
        shared.wait_state(holder, "running")
        ids = []
        for name, priority in (("low", -50), ("middle", 0), ("high", 50)):
            ids.append(shared.apply_and_trigger(f"goes_{name}", f"priority: {priority}\nsh: echo {name} >> {trace}"))
        gate.touch()
        assert all(shared.ended(i)["state"] == "succeeded" for i in ids)
    finally:
        shared.run("limit", "set", "none", check=True)
    assert trace.read_text().split() == ["high", "middle", "low"]


@pytest.fixture(scope="module")
def three(shared):
    """Two more agents, one of them with a label."""
    agents = [shared.join_agent("second", "--label", "disk=ssd"), shared.join_agent("third")]
    eventually(lambda: shared.online("second", "third"), "both have joined")
    yield [a["name"] for a in shared.json("agents", "list")["items"] if a["state"] == "online"]
    for agent in agents:
        agent.kill()
        agent.wait()


def test_broadcast_reaches_every_agent_once(shared, three):
    instance = shared.apply_and_trigger("everywhere", """pool: { route: broadcast }
sh: echo "::duly share=$DULY_SHARD_INDEX/$DULY_SHARD_TOTAL"
""")
    assert shared.ended(instance)["state"] == "succeeded"
    shares = shared.json("instance", "list", "--parent", instance)["items"]
    assert sorted(s["agent"] for s in shares) == sorted(three)
    assert sorted(s["outputs"]["share"] for s in shares) == ["0/3", "1/3", "2/3"]
    assert sorted(s["part"]["index"] for s in shares) == [0, 1, 2]


def test_labels_and_names_choose_the_agent(shared, three):
    by_label = shared.apply_and_trigger("on_ssd", "pool: { labels: { disk: ssd } }\nnoop: true")
    by_name = shared.apply_and_trigger("on_third", "pool: { route: { fixed: third } }\nnoop: true")
    assert shared.ended(by_label)["agent"] == "second"
    assert shared.ended(by_name)["agent"] == "third"


def test_round_takes_turns(shared, three):
    shared.apply("job: turns\noverlap: allow\npool: { route: round }\nnoop: true\n")
    took = [shared.ended(shared.trigger("turns"))["agent"] for _ in range(6)]
    assert sorted(took[:3]) == sorted(three) and took[:3] == took[3:], took


def test_a_drained_agent_gets_no_new_work(shared, three, tmp_path):
    gate = gated(shared, tmp_path, "stays", "overlap: allow\npool: { route: { fixed: third } }")
    running = shared.trigger("stays")
    shared.wait_state(running, "running")
    shared.run("agents", "drain", "third", check=True)
    waiting = shared.trigger("stays")
    assert "every one is drained: it takes nothing new" in why(shared, waiting)
    gate.touch()
    assert shared.ended(running)["state"] == "succeeded", "what runs there goes on"
    assert shared.json("instance", "show", waiting)["state"] == "ready"
    shared.run("agents", "undrain", "third", check=True)
    assert shared.ended(waiting)["agent"] == "third"


# ---- across restarts


def test_a_fixed_delay_goes_on_over_restarts(duly):
    duly.apply("job: chain\ndelay: 700ms\nsh: sleep 0.1\n")
    done = lambda: duly.instances("chain", state="succeeded")
    for count in (2, 4, 6):
        eventually(lambda: len(done()) >= count, f"{count} links of the chain")
        duly.kill_server()
        duly.up()
    eventually(lambda: len(done()) >= 8, "it goes on after the last kill")
    duly.run("job", "pause", "chain", check=True)
    links = sorted(done(), key=lambda i: i["planned_at"])
    for earlier, later in zip(links, links[1:]):
        assert earlier["ended_at"] < later["planned_at"], "planned a delay after the one before had ended"
    assert duly.verify()["ok"], duly.verify()["findings"]


def test_verify_knows_the_first_of_a_chain(shared):
    shared.apply("job: short_chain\ndelay: 300ms\nnoop: true\n")
    eventually(lambda: len(shared.instances("short_chain", state="succeeded")) >= 2, "two links of the chain")
    shared.run("job", "pause", "short_chain", check=True)
    checked = shared.json("verify", "--job", "short_chain")
    assert checked["times"] == checked["fired"] > 0, checked
    found = [f for f in shared.verify()["findings"] if f["job"] == "short_chain"]
    assert not found, found


def test_a_fixed_rate_keeps_its_beat(shared):
    shared.apply("job: beat\nevery: 500ms\noverlap: allow\nnoop: true\n")
    eventually(lambda: len(shared.instances("beat", state="succeeded")) >= 5, "five beats")
    shared.run("job", "pause", "beat", check=True)
    moments = sorted(datetime.datetime.fromisoformat(i["planned_at"].replace("Z", "+00:00")) for i in shared.instances("beat", state="succeeded"))
    assert {b - a for a, b in zip(moments, moments[1:])} == {datetime.timedelta(milliseconds=500)}, moments
    found = [f for f in shared.verify()["findings"] if f["job"] == "beat"]
    assert not found, found
