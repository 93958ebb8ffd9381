"""An exclusive job whose holder falls silent starts elsewhere only after the first task is gone, by the tasks' own trace."""

import os
import signal

from harness import eventually

JOB = """job: mirror
exclusive: {{ takeover: 5s }}
stop_grace: 1s
retry: {{ times: 1, delay: 100ms }}
pool: {{ name: pair }}
sh: |
  while [ ! -e {gate} ]; do
    echo "$DULY_FENCE $(cut -d' ' -f1 /proc/uptime)" >> {trace}
    sleep 0.05
  done
"""


def test_the_second_starts_only_when_the_first_is_gone(duly, tmp_path):
    trace, gate = tmp_path / "trace", tmp_path / "gate"
    processes = {name: duly.join_agent(name, "--pool", "pair") for name in ("north", "south")}
    eventually(lambda: duly.online("north", "south"), "both agents are online")
    duly.apply(JOB.format(trace=trace, gate=gate))
    instance = duly.trigger("mirror")

    def lines():
        return [line.split() for line in trace.read_text().splitlines() if len(line.split()) == 2]

    eventually(lambda: trace.exists() and lines(), "the first task runs")
    fence, holder = lines()[0][0], duly.wait_state(instance, "running")["agent"]
    other = "south" if holder == "north" else "north"
    # Frozen, the agent neither beats nor looks after its task: only the task's shim is left.
    os.kill(processes[holder].pid, signal.SIGSTOP)
    try:
        eventually(lambda: lines()[-1][0] != fence, "another attempt runs", within=90)
        seen = lines()
        taken_over = next(n for n, line in enumerate(seen) if line[0] != fence)
        assert all(line[0] == fence for line in seen[:taken_over])
        assert int(seen[taken_over][0]) > int(fence), "a fence only grows"
        quiet = float(seen[taken_over][1]) - float(seen[taken_over - 1][1])
        assert quiet > 1, "between the two nobody wrote"
    finally:
        os.kill(processes[holder].pid, signal.SIGCONT)
    eventually(lambda: duly.online("north", "south"), "the first agent is back")
    gate.touch()
    assert duly.ended(instance, within=60)["agent"] == other
    after = lines()[taken_over:]
    assert {line[0] for line in after} == {seen[taken_over][0]}, "the first never wrote again"
    attempts = duly.json("instance", "attempts", instance)["items"]
    assert [(a["agent"], a["verdict"]) for a in attempts] == [(holder, "lost"), (other, "succeeded")]
