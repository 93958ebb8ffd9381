"""The kill matrix: server, agent and both, killed -9 at random moments under load. Judged by `verify`, and by this
file alone from what the tasks themselves wrote down.

Load: 480 no-op and 20 process tasks per second, and tasks that outlive an agent.
"""

import collections
import os
import random
import time

import pytest

from harness import SOAK, eventually, seconds

MOMENTS = 50 if SOAK else 5
NOOPS, SCRIPTS = 480, 20


def load(trace) -> str:
    jobs = [f'job: noop-{n}\ncron: "* * * * * ?"\nnoop: true' for n in range(NOOPS)]
    note = f'printf "%s %s %s\\n" "$1" "$DULY_INSTANCE_ID" "$DULY_FENCE" >> {trace}'
    script = f"set -e; note() {{ {note}; }}; note start; note end"
    jobs += [f'job: script-{n}\ncron: "* * * * * ?"\noverlap: allow\nsh: |\n  {script}' for n in range(SCRIPTS)]
    long = f"set -e; note() {{ {note}; }}; note start; sleep 4; note end"
    jobs += [f'job: long\ncron: "0/2 * * * * ?"\noverlap: allow\nsh: |\n  {long}']
    return "\n---\n".join(jobs) + "\n"


def judge(duly, trace, jobs_at, until):
    """Zero lost, zero doubled, every result recorded once: from the trace and the listed ledger only."""
    starts, ends = collections.Counter(), collections.Counter()
    for line in trace.read_text().splitlines():
        what, instance, fence = line.split()
        (starts if what == "start" else ends)[int(instance)] += 1
    doubled = [i for i, n in starts.items() if n > 1]
    assert not doubled, f"ran twice: {doubled[:10]}"
    listed = duly.instances()
    by_job = collections.defaultdict(list)
    for i in listed:
        by_job[i["job"]].append(i)
    for job, items in by_job.items():
        times = sorted(seconds(i["planned_at"]) for i in items if seconds(i["planned_at"]) < until)
        assert len(times) == len(set(times)), f"{job}: a planned second twice"
        step = 2 if job == "long" else 1
        assert times == list(range(times[0], times[-1] + 1, step)), f"{job}: a planned second is missing"
    for i in listed:
        if seconds(i["planned_at"]) >= until:
            continue
        assert i["state"] == "succeeded", f"{i['job']} {i['id']} is {i['state']}: {i.get('message')} {i.get('why')}"
        if i["job"].startswith("script") or i["job"] == "long":
            assert starts[i["id"]] == 1 and ends[i["id"]] == 1, f"{i['job']} {i['id']} says succeeded, the trace says {starts[i['id']]}/{ends[i['id']]}"
    unknown = set(starts) - {i["id"] for i in listed}
    assert not unknown, f"ran without a ledger entry: {unknown}"


@pytest.mark.parametrize("duly", ["embedded", "postgres"], indirect=True)
@pytest.mark.parametrize("victim", ["server", "agent", "both"])
def test_kills_at_random_moments(duly, tmp_path, victim):
    seed = int(os.environ.get("DULY_SEED", random.randrange(1 << 30)))
    print(f"DULY_SEED={seed}")
    chance = random.Random(seed)
    trace = tmp_path / "trace"
    trace.touch()
    duly.apply(load(trace))
    eventually(lambda: trace.stat().st_size > 0, "the first tasks have run")
    for _ in range(MOMENTS):
        time.sleep(chance.uniform(0.2, 2.5))  # the random moment itself
        if victim in ("server", "both"):
            duly.kill_server()
        if victim in ("agent", "both"):
            duly.kill_agent()
        if victim in ("server", "both"):
            time.sleep(chance.uniform(0.0, 1.0))
            duly.up()
        eventually(duly.agent_online, "the agent is back")
    until = int(time.time())
    def settled():
        open_states = ("scheduled", "ready", "dispatched", "running", "retry_wait")
        waiting = [i for s in open_states for i in duly.instances(state=s) if seconds(i["planned_at"]) < until]
        return not waiting
    eventually(settled, "everything planned before the end has ended", within=60, every=0.5)
    judge(duly, trace, None, until)
    checked = duly.verify()
    assert checked["ok"], checked["findings"]
