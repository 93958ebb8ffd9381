"""Judges a job by what its tasks wrote down themselves, and by nothing that Duly says: which of them ran, under which fence,
from when to when. Knows no server; a trace made up by hand is judged the same way."""

import dataclasses
import pathlib
from typing import Callable, Iterable

from harness import seconds

# One write, so that lines of two tasks do not mix.
LINE = 'echo "$DULY_INSTANCE_ID $DULY_FENCE $DULY_PLANNED_AT {what} $(date +%s.%N)" >> {traces}/$DULY_JOB'


@dataclasses.dataclass(frozen=True)
class Run:
    """One task, as it saw itself: what for, under which fence, from when to when (None: it never said that it ended)."""
    job: str
    instance: int
    fence: int
    planned: str
    start: float
    end: float | None
    # The last that was heard of it; a task that is killed says no more than this.
    seen: float = 0.0
    # How often it began; the same order carried out twice shows here.
    starts: int = 1


def task(traces: pathlib.Path, work: str = ":") -> str:
    """A shell task that writes down when it began and ended, and does `work` in between, where `$BEAT` is a sign of life."""
    start, beat, end = (LINE.format(what=what, traces=traces) for what in ("start", "beat", "end"))
    return f"{start}; {work.replace('$BEAT', beat)}; {end}"


def read(path: pathlib.Path) -> list[Run]:
    """In the order they began. A last line that is still being written is left out."""
    runs: dict[tuple[int, int], Run] = {}
    text = path.read_text() if path.exists() else ""
    for line in text[: text.rfind("\n") + 1].splitlines():
        instance, fence, planned, what, at = line.split()
        key, moment = (int(instance), int(fence)), float(at)
        before = runs.get(key)
        if before is None:
            assert what == "start", f"{path.name} {key}: {what} before it started"
            runs[key] = Run(path.name, *key, planned, moment, None, moment)
        elif what == "start":
            runs[key] = dataclasses.replace(before, starts=before.starts + 1, end=None, seen=moment)
        else:
            runs[key] = dataclasses.replace(before, end=moment if what == "end" else None, seen=moment)
    return sorted(runs.values(), key=lambda run: run.start)


def faults(runs: Iterable[Run], due: Iterable[int] | None = None, alone: bool = False, retried: bool = False,
           fences: bool = True) -> list[str]:
    """What is wrong with a job's runs, in words. `due`: the planned seconds that must all have run to their end; `alone`: no
    two may have run at once; `retried`: an instance may have had several attempts, one after the other; `fences`: they must
    grow."""
    runs = sorted(runs, key=lambda run: run.start)
    return [*doubled(runs, retried), *(lost(runs, due) if due is not None else []), *(overlapped(runs) if alone else []),
            *(shrunk(runs, alone) if fences else [])]


def doubled(runs: list[Run], retried: bool) -> list[str]:
    found = [f"{run.job}: attempt {run.fence} of instance {run.instance} began {run.starts} times" for run in runs if run.starts > 1]
    instances, planned = {}, {}
    for run in runs:
        if not retried and run.instance in instances:
            found.append(f"{run.job}: instance {run.instance} ran as {instances[run.instance]} and as {run.fence}")
        instances[run.instance] = run.fence
        other = planned.setdefault(run.planned, run.instance)
        if other != run.instance:
            found.append(f"{run.job}: {run.planned} ran as instance {other} and as {run.instance}")
    return found


def lost(runs: list[Run], due: Iterable[int]) -> list[str]:
    job = runs[0].job if runs else "a job that never ran"
    begun, ended = {seconds(run.planned) for run in runs}, {seconds(run.planned) for run in runs if run.end}
    return [f"{job}: second {second} {'never ended' if second in begun else 'never ran'}" for second in due if second not in ended]


def overlapped(runs: list[Run]) -> list[str]:
    """Of those that began earlier, somebody gave a sign of life after this one began."""
    found, latest = [], None
    for run in runs:
        if latest and latest.seen > run.start:
            found.append(f"{run.job}: {run.fence} began at {run.start:.3f}, {latest.fence} still ran at {latest.seen:.3f}")
        latest = run if latest is None or run.seen > latest.seen else latest
    return found


def crowded(runs: Iterable[Run], units: Callable[[Run], int], most: int) -> list[str]:
    """Of something shared, more was in use at once than there is; of whatever jobs the runs are."""
    runs = list(runs)
    edges = [(run.start, units(run), run) for run in runs] + [(run.seen, -units(run), run) for run in runs]
    found, used = [], 0
    for at, step, run in sorted(edges, key=lambda edge: edge[:2]):
        used += step
        if step > 0 and used > most:
            found.append(f"{run.job}: {run.fence} began at {at:.3f}, and {used} of {most} were in use")
    return found


def shrunk(runs: list[Run], alone: bool) -> list[str]:
    """Fences grow: in the order of starting where only one runs at a time, else in the order of what was planned, counting an
    instance by its first attempt."""
    if alone:
        order = runs
    else:
        first: dict[int, Run] = {}
        for run in runs:
            if run.instance not in first or run.fence < first[run.instance].fence:
                first[run.instance] = run
        order = sorted(first.values(), key=lambda run: run.planned)
    return [f"{b.job}: fence {b.fence} ({b.planned}) came after {a.fence} ({a.planned})" for a, b in zip(order, order[1:]) if b.fence <= a.fence]
