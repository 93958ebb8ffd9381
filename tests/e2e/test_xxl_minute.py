"""A minute of two hundred jobs every second over three real executors, one of them killed and restarted, the server
killed once. Judged by what the executors themselves wrote down, against the ledger as it is listed.
"""

import collections
import itertools

import pytest

from harness import Duly, eventually, seconds
from xxl_peers import KINDS

JOBS, TIMES, APP = 200, 60, "minute"
TOKEN = "a-minute-of-two-hundred"
# Java keeps a result that found no server, and tells it half a minute later.
TOLD_WITHIN = 120
OPEN = {"scheduled", "ready", "dispatched", "running", "retry_wait"}


@pytest.fixture
def server(tmp_path):
    (tmp_path / "xxl-token").write_text(TOKEN)
    one = Duly(tmp_path).setup()
    try:
        yield one
    finally:
        one.stop()


def jobs() -> str:
    routes = itertools.cycle(["first", "last", "round", "consistent_hash", "least_recently_used", "failover"])
    one = (f'job: j{{n:03}}\ncron: {{{{ expr: "* * * * * ?", max_count: {TIMES} }}}}\n'
           f'executor: {{{{ handler: ok, params: "{{n}}" }}}}\npool: {{{{ name: {APP}, route: {{route}} }}}}')
    return "\n---\n".join(one.format(n=n, route=next(routes)) for n in range(JOBS)) + "\n"


def test_nothing_lost_nothing_doubled_nothing_stuck(server, peers):
    up = ("--xxl-token-file", server.root / "xxl-token")
    server.up(*up)
    three = [peers(kind, server.url, TOKEN, APP) for kind in KINDS if kind.language == "java"]
    addresses = {peer.address for peer in three}
    eventually(lambda: server.online(*addresses), "all three are online")
    server.apply(jobs())

    def begun() -> int:
        return sum(len(peer.trace(what="start")) for peer in three)
    eventually(lambda: begun() >= JOBS * TIMES // 4, "a quarter has run", within=60, every=0.5)
    victim = three[0]
    victim.kill()
    eventually(lambda: begun() >= JOBS * TIMES // 3, "the others go on", within=60, every=0.5)
    victim.start()
    eventually(lambda: begun() >= JOBS * TIMES // 2, "half has run", within=60, every=0.5)
    server.kill_server()
    server.up(*up)

    def all_ended():
        counted = collections.Counter(i["state"] for i in server.instances())
        return counted if sum(counted.values()) == JOBS * TIMES and not counted.keys() & OPEN else None
    counted = eventually(all_ended, "every planned time has its end", within=TIMES + TOLD_WITHIN, every=2)
    judge(server.instances(), three, victim)
    assert counted["succeeded"] >= JOBS * TIMES - JOBS, counted
    assert server.verify()["ok"], server.verify()["findings"]


def judge(listed: list, three: list, victim):
    """Each planned second once, each attempt run at most once, each success really run; only the killed one may lose a run."""
    by_job = collections.defaultdict(list)
    for i in listed:
        by_job[i["job"]].append(seconds(i["planned_at"]))
    assert len(by_job) == JOBS
    for job, planned in by_job.items():
        planned.sort()
        assert planned == list(range(planned[0], planned[0] + TIMES)), f"{job}: a planned second is missing or doubled"
    starts = collections.Counter(line.log for peer in three for line in peer.trace(what="start"))
    ends = collections.Counter(line.log for peer in three for line in peer.trace(what="end"))
    doubled = [log for log, n in starts.items() if n > 1]
    assert not doubled, f"ran twice: {doubled[:10]}"
    unknown = set(starts) - {i["attempt"] for i in listed}
    assert not unknown, f"ran without a ledger entry: {sorted(unknown)[:10]}"
    for i in listed:
        if i["state"] == "succeeded":
            assert ends[i["attempt"]] == 1, f"{i['job']} {i['id']} says succeeded, but never ran"
        else:
            assert i["state"] == "failed" and i["reason"] == "lost" and i["agent"] == victim.address, i
