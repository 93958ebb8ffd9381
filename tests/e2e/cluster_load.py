"""Work for a cluster to be disturbed at: many empty jobs, and some dozens that write down what they saw, under every rule of
who may run beside whom. Judged by the tasks' own trace, by `duly verify`, and each against the other."""

import dataclasses
import time

import checker
from cluster import Cluster
from harness import eventually, seconds

OPEN = {"scheduled", "ready", "dispatched", "running", "retry_wait"}
WELL = {"succeeded", "skipped", "stopped"}


@dataclasses.dataclass(frozen=True)
class Kind:
    """Jobs under one rule; every `period` seconds, busy for `work`."""
    name: str
    rule: str
    count: int
    period: int = 1
    work: str = ":"
    alone: bool = True
    # Whether every planned time must run: rules that leave some out are judged by the ledger's word for each.
    all_run: bool = True


KINDS = [
    Kind("plain", "overlap: allow", 10, alone=False),
    # Room for what piles up while a fault follows the other.
    Kind("queued", "overlap: { queue: 1000 }", 4, work="sleep 0.3"),
    Kind("waits", "exclusive: wait", 5, 2, "sleep 0.4"),
    # Longer than any fault here leaves it without an owner: what the agent ends by itself is another test.
    Kind("moves", "exclusive: { takeover: 10s }", 5, 2, "sleep 0.4"),
    Kind("skips", "overlap: skip", 3, work="sleep 0.4", all_run=False),
    Kind("replaces", "overlap: replace", 3, 2, "sleep 0.4", all_run=False),
]


class Load:
    def __init__(self, cluster: Cluster, empty: int = 1000, kinds: list[Kind] = KINDS, every: int = 1):
        """So many empty jobs, each firing every so many seconds."""
        self.cluster, self.fires = cluster, empty // every
        self.jobs = {f"{kind.name}-{n}": kind for kind in kinds for n in range(kind.count)}
        text = [f'job: {name}\ncron: {{ expr: "0/{kind.period} * * * * ?", misfire: all }}\n{kind.rule}\nstop_grace: 1s\nsh: |\n'
                f"  {cluster.task(kind.work)}" for name, kind in self.jobs.items()]
        text += [f'job: empty-{n}\ncron: {{ expr: "{n % every}/{every} * * * * ?", misfire: all }}\noverlap: allow\nnoop: true' for n in range(empty)]
        self.text = "\n---\n".join(text)

    def start(self):
        self.cluster.living()[0].apply(self.text)
        eventually(lambda: all(self.cluster.trace(name) for name in self.jobs), "every job has run", within=60)
        self.since = int(time.time()) + 1
        return self

    def judge(self, within: float = 120) -> dict:
        """Ends the load, waits until everything has come to an end, and finds nothing wrong. What `duly verify` says."""
        until = int(time.time()) + 1
        asked = self.cluster.living()[0]
        eventually(lambda: self.caught_up(until), "the tasks have caught up", within)
        parts = [part + "\nmode: paused" for part in self.text.split("\n---\n")]
        for at in range(0, len(parts), 2000):
            asked.apply("\n---\n".join(parts[at:at + 2000]))
        eventually(lambda: self.open() == 0, "everything has ended", within)
        found = [f"{row['job']}: instance {row['id']} of {row['planned_at']} is {row['state']}: {row['message']}" for row in self.not_well()]
        for name, kind in self.jobs.items():
            due = range(self.since + -self.since % kind.period, until, kind.period) if kind.all_run else None
            runs = self.cluster.trace(name)
            # Runs side by side have no order to keep: one whose order went astray is numbered anew.
            found += checker.faults(runs, due, kind.alone, fences=kind.alone) + self.disagree(name, runs)
        assert not found, "\n".join(found[:20])
        seen = asked.verify()
        assert seen["ok"] and seen["missed"] == seen["merged"] == 0, seen
        assert seen["fired"] >= self.fires * (until - self.since), seen
        return seen

    def caught_up(self, until: int) -> bool:
        return all(any(seconds(run.planned) >= until for run in self.cluster.trace(name)) for name, kind in self.jobs.items() if kind.all_run)

    def open(self) -> int:
        stats = self.cluster.living()[0].api("GET", "/stats").json()["instances"]
        return sum(count for state, count in stats.items() if state in OPEN)

    def not_well(self) -> list[dict]:
        """No task here fails by itself."""
        stats = self.cluster.living()[0].api("GET", "/stats").json()["instances"]
        bad = [state for state, count in stats.items() if count and state not in WELL]
        return [row for state in bad for row in self.rows(state=state)]

    def disagree(self, job: str, runs: list[checker.Run]) -> list[str]:
        """The ledger's word for each instance beside the tasks' own."""
        rows = {row["id"]: row["state"] for row in self.rows(job=job)}
        ran, ended = {run.instance for run in runs}, {run.instance for run in runs if run.end}
        found = [f"{job}: instance {id} is said to have succeeded and never ended" for id, state in rows.items() if state == "succeeded" and id not in ended]
        found += [f"{job}: instance {id} is said to be skipped and ran" for id, state in rows.items() if state == "skipped" and id in ran]
        found += [f"{job}: instance {id} ran and nobody knows it" for id in ran if id not in rows]
        return found

    def rows(self, **filters) -> list[dict]:
        rows, cursor = [], None
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = self.cluster.living()[0].api("GET", "/instances", params={"limit": 500, **filters, **more}).json()
            rows += page["items"]
            cursor = page["next"]
            if not cursor:
                return rows
