"""A stop is a stop: the whole tree is gone, it says by whom, nothing is tried again."""

import textwrap

import pytest

from harness import alive, cgroups, eventually

# Forks, ignores TERM, leaves its session and its parent: four processes, each by another way out.
ESCAPING = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)

def stay():
    with open({pids!r}, "a") as f:
        f.write(f"{{os.getpid()}}\\n")
    while True:
        time.sleep(60)

if os.fork() == 0:
    stay()                      # a plain child
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        stay()                  # in a session of its own, its parent gone at once
    os._exit(0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 3)
        stay()                  # the same as a daemon: no output held, a session once more
    stay()                      # a leader of a session
stay()
"""


def escaping(name, pids, **more):
    source = textwrap.indent(ESCAPING.format(pids=str(pids)), "  ")
    keys = "".join(f"{key}: {value}\n" for key, value in more.items())
    return f"job: {name}\nstop_grace: 1s\n{keys}python: |\n{source}\n"


def tree(pids):
    return [int(line) for line in pids.read_text().split()] if pids.exists() else []


def gone(pids):
    return not any(alive(pid) for pid in tree(pids))


def test_a_task_that_hides_from_a_stop_is_gone_after_it(shared, tmp_path):
    pids = tmp_path / "pids"
    shared.apply(escaping("hides", pids, retry="{ times: 3, delay: 100ms }"))
    instance = shared.trigger("hides")
    eventually(lambda: len(tree(pids)) == 5, "all five processes have come up")
    assert all(alive(pid) for pid in tree(pids))
    shared.run("instance", "stop", instance, "--wait", check=True)
    assert gone(pids), "stopped was said while some of it lived"
    seen = shared.json("instance", "show", instance)
    assert seen["state"] == "stopped"
    assert seen["stopping"] == {"by": "ada"} and "by ada" in seen["message"]
    assert seen["attempt_no"] == 1 and len(shared.json("instance", "attempts", instance)["items"]) == 1
    # The retry would have come after 100 ms; another run to its end is much longer.
    assert shared.ended(shared.apply_and_trigger("after_hides", "sh: sleep 0.5"))["state"] == "succeeded"
    assert shared.json("instance", "show", instance)["attempt_no"] == 1
    assert len(tree(pids)) == 5


def test_a_task_that_ends_politely_is_stopped_without_force(shared):
    instance = shared.apply_and_trigger("polite", """stop_grace: 1m
sh: |
  trap 'echo bye; exit 3' TERM
  echo ready
  while :; do sleep 0.1; done
""")
    eventually(lambda: "ready" in shared.run("log", instance).stdout, "it is ready for signals")
    shared.run("instance", "stop", instance, "--wait", check=True)
    seen = shared.json("instance", "show", instance)
    assert (seen["state"], seen["exit_code"]) == ("stopped", 3)
    assert "bye" in eventually(lambda: shared.run("log", instance, check=True).stdout.count("bye") and "bye", "its last words")


def test_what_waits_is_stopped_at_once(shared):
    """Queued behind another, and scheduled for a time to come: neither ever starts."""
    first = shared.apply_and_trigger("line", "overlap: queue\nsh: sleep 1000")
    shared.wait_state(first, "running")
    second = shared.trigger("line")
    shared.wait_state(second, "ready")
    assert f"instance {first}" in shared.run("why", second, check=True).stdout
    shared.run("instance", "stop", second, check=True)
    seen = shared.json("instance", "show", second)
    assert (seen["state"], seen["started_at"]) == ("stopped", None)
    shared.run("instance", "stop", first, "--wait", check=True)
    assert shared.json("instance", "show", second)["started_at"] is None


def test_a_scheduled_time_is_stopped_before_it_comes(shared, tmp_path):
    """Instances are made up to two seconds ahead; one stopped then ends without having run."""
    trace = tmp_path / "trace"
    shared.apply(f'job: ahead\ncron: "0/2 * * * * ?"\noverlap: allow\nsh: echo $DULY_INSTANCE_ID >> {trace}\n')

    def stop_one_ahead():
        for i in shared.instances("ahead", state="scheduled"):
            if shared.run("instance", "stop", i["id"]).returncode == 0:
                return i["id"]
        return None
    stopped = eventually(stop_one_ahead, "one is scheduled and stopped", every=0.01)
    seen = shared.ended(stopped)
    assert (seen["state"], seen["started_at"]) == ("stopped", None), seen
    eventually(lambda: any(i["id"] > stopped and i["state"] == "succeeded" for i in shared.instances("ahead")),
               "the times after it run")
    assert str(stopped) not in trace.read_text().split()
    shared.run("job", "pause", "ahead", check=True)
    assert shared.verify()["ok"], shared.verify()["findings"]


def test_a_stopped_retry_does_not_come(shared):
    instance = shared.apply_and_trigger("comes_again", "retry: { times: 3, delay: 1h }\nsh: exit 1")
    shared.wait_state(instance, "retry_wait")
    assert "retry 1 of 3" in shared.run("why", instance, check=True).stdout
    shared.run("instance", "stop", instance, check=True)
    seen = shared.ended(instance)
    assert (seen["state"], seen["started_at"]) == ("stopped", None), seen
    attempts = shared.json("instance", "attempts", instance)["items"]
    assert [a["number"] for a in attempts if a["started_at"]] == [1], attempts


def test_a_timeout_ends_the_tree_and_is_a_failure(shared, tmp_path):
    pids = tmp_path / "pids"
    shared.apply(escaping("too_long", pids, timeout="3s"))
    seen = shared.ended(shared.trigger("too_long"))
    assert (seen["state"], seen["reason"]) == ("failed", "timeout"), seen
    assert len(tree(pids)) == 5 and gone(pids)


def test_an_ended_instance_is_not_stopped_again(shared):
    instance = shared.apply_and_trigger("short", "noop: true")
    assert shared.ended(instance)["state"] == "succeeded"
    shared.run("instance", "stop", instance)
    assert shared.json("instance", "show", instance)["state"] == "succeeded"
    assert shared.run("instance", "stop", 999_999_999).returncode == 3


def test_a_stop_survives_the_death_of_the_server(duly, tmp_path):
    """The intent is on disk when it is answered: a server killed right then, and an agent that hears of it later."""
    pids = tmp_path / "pids"
    duly.apply(escaping("cut_off", pids, retry="{ times: 3, delay: 100ms }").replace("stop_grace: 1s", "stop_grace: 4s"))
    instance = duly.trigger("cut_off")
    eventually(lambda: len(tree(pids)) == 5, "all five processes have come up")
    duly.run("instance", "stop", instance, check=True)
    duly.kill_server()
    assert not gone(pids), "the grace is long enough for the kill to come between intent and end"
    duly.up()
    seen = duly.ended(instance)
    assert (seen["state"], seen["attempt_no"]) == ("stopped", 1), seen
    assert seen["stopping"] == {"by": "ada"} and gone(pids)


def test_a_task_has_a_cgroup_of_its_own_where_the_machine_has_them(shared):
    home = cgroups()
    if home is None:
        pytest.skip("no cgroup v2 here that may be written")
    shared.apply("job: grouped\nsh: grep ^0 /proc/self/cgroup\n")
    instance = shared.trigger("grouped")
    eventually(lambda: shared.json("instance", "show", instance)["state"] == "succeeded", "it has ended")
    group = shared.run("log", instance, check=True).stdout.strip()
    assert "/duly-" in group and "/attempt-" in group, group
    ours, attempt = group.split("/")[-2:]
    eventually(lambda: (home / ours).exists() and not (home / ours / attempt).exists(), "its group went with it")
