"""Limits that many shards share: the sum of what runs is never more than the limit, and as much as the limit; by the word of
the tasks themselves. On one server with PostgreSQL, where there are 64 shards already, and on three servers."""

import itertools
import pathlib

import pytest

import checker
from harness import eventually

JOBS, ROUNDS, LIMIT = 12, 3, 4


def jobs(duly, traces: pathlib.Path, work: str) -> list[str]:
    """Of many shards."""
    names = [f"worker-{n}" for n in range(JOBS)]
    duly.apply("\n---\n".join(f"job: {name}\nmanual: true\noverlap: allow\nsh: {checker.task(traces, work)}" for name in names))
    return names


def run_all(duly, names: list[str]) -> list[int]:
    made = [duly.api("POST", f"/jobs/{name}/trigger", json={}) for _ in range(ROUNDS) for name in names]
    assert all(answer.ok for answer in made), [answer.text for answer in made if not answer.ok]
    return [answer.json()["id"] for answer in made]


def all_end(duly, ids: list[int], traces: pathlib.Path) -> list[checker.Run]:
    ended = lambda: {one["id"] for one in duly.instances(state="succeeded")}
    eventually(lambda: set(ids) <= ended(), "all have ended", within=90, every=0.3)
    return [run for path in traces.iterdir() for run in checker.read(path)]


def most_at_once(runs: list[checker.Run]) -> int:
    steps = sorted([(run.start, 1) for run in runs] + [(run.end, -1) for run in runs])
    return max(itertools.accumulate(step for _, step in steps))


def holds(duly, traces: pathlib.Path, *limit):
    """A limit of runs at once."""
    names = jobs(duly, traces, "sleep 0.3")
    duly.run(*limit, LIMIT, check=True)
    runs = all_end(duly, run_all(duly, names), traces)
    assert len(runs) == JOBS * ROUNDS
    assert most_at_once(runs) == LIMIT, f"{most_at_once(runs)} ran at once, {LIMIT} may"
    # Nobody had to wait for long while there was room: the work of all, done by so many, and some time for each to be handed on.
    return max(run.end for run in runs) - min(run.start for run in runs)


@pytest.fixture
def traces(tmp_path):
    (tmp_path / "traces").mkdir()
    return tmp_path / "traces"


@pytest.mark.parametrize("duly", ["postgres"], indirect=True)
@pytest.mark.parametrize("limit", [("limit", "set"), ("pool", "set", "default", "--limit"), ("tenant", "set", "default", "--running")],
                         ids=["installation", "pool", "tenant"])
def test_a_limit_holds_for_all_shards_of_one_server(duly, traces, limit):
    took = holds(duly, traces, *limit)
    print(f"{JOBS * ROUNDS} runs of 0.3 s, {LIMIT} at once: {took:.1f} s")


@pytest.mark.parametrize("duly", ["postgres"], indirect=True)
def test_a_pace_holds_for_all_shards_of_one_server(duly, traces):
    names = jobs(duly, traces, ":")
    duly.run("tenant", "set", "default", "--per-second", "6", check=True)
    ids = run_all(duly, names)
    all_end(duly, ids, traces)
    starts = sorted(run.start for path in traces.iterdir() for run in checker.read(path))
    took = starts[-1] - starts[0]
    assert took >= (len(ids) - 1) / 6 - 1, f"{len(ids)} starts in {took:.1f} s"


def test_a_limit_holds_for_all_servers(make):
    cluster = make(servers=3, agents=1)
    took = holds(cluster.first, cluster.traces, "limit", "set")
    print(f"{JOBS * ROUNDS} runs of 0.3 s, {LIMIT} at once, on three servers: {took:.1f} s")


def test_a_limit_holds_while_the_lender_dies(make):
    cluster = make(servers=3, agents=1, lease_ms=1500)
    names = jobs(cluster.first, cluster.traces, "sleep 0.5")
    cluster.first.run("limit", "set", LIMIT, check=True)
    ids = run_all(cluster.first, names)
    lender = next(node for node in cluster.nodes if cluster.id_of(node) == cluster.owners()[0])
    eventually(lambda: len(list(cluster.traces.iterdir())) >= LIMIT, "some run")
    lender.kill()
    runs = all_end(cluster.living()[0], ids, cluster.traces)
    assert len(runs) == JOBS * ROUNDS and all(run.starts == 1 for run in runs)
    assert most_at_once(runs) == LIMIT, f"{most_at_once(runs)} ran at once, {LIMIT} may"
