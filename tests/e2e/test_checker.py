"""The checker of traces, on traces made up by hand: it finds what was planted, and nothing in one that is well."""

import datetime

import pytest

import checker
from checker import Run, faults

START = 1_800_000_000


def stamp(second: int) -> str:
    return datetime.datetime.fromtimestamp(START + second, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")


def run(second: int, fence: int | None = None, instance: int | None = None, start: float = 0.1, length: float | None = 0.5, **more) -> Run:
    begun = START + second + start
    end = None if length is None else begun + length
    fence = 100 + second if fence is None else fence
    return Run("job", fence if instance is None else instance, fence, stamp(second), begun, end, **{"seen": end or begun, **more})


WELL = [run(n) for n in range(5)]
DUE = range(START, START + 5)


def test_nothing_is_found_where_all_is_well():
    assert faults(WELL, DUE, alone=True) == []
    late = [run(0), run(1, start=2.5), run(2, start=2.1), run(3, start=1.5), run(4)]
    assert faults(late, DUE) == [], "late and at once is allowed where jobs may overlap"
    again = [run(0, length=None), run(0, fence=150, instance=100, start=3.0)]
    assert faults(again, range(START, START + 1), alone=True, retried=True) == []


@pytest.mark.parametrize("what, runs, alone", [
    ("never ran", [WELL[0], WELL[1], WELL[3], WELL[4]], False),
    ("never ended", [*WELL[:4], run(4, length=None)], False),
    ("began 2 times", [*WELL[:4], run(4, starts=2)], False),
    ("ran as 102 and as 900", [*WELL, run(2, fence=900, instance=102, start=9)], False),
    ("ran as instance 102 and as 900", [*WELL, run(2, fence=900, start=9)], False),
    ("still ran", [run(n, length=1.05) for n in range(5)], True),
    ("still ran", [run(0, length=3.5), *WELL[1:]], True),
    ("came after", [run(n, fence=300 - n) for n in range(5)], False),
    ("came after", [*WELL[:4], run(4, fence=50)], True),
])
def test_what_is_planted_is_found(what, runs, alone):
    found = faults(runs, DUE, alone=alone)
    assert any(what in one for one in found), found


def test_a_job_that_never_ran_has_lost_everything():
    assert len(faults([], DUE)) == 5


def test_a_silent_task_counts_up_to_its_last_sign_of_life():
    silent = run(0, length=None, seen=START + 4.0)
    assert faults([silent, run(3, start=1.5)], alone=True) == []
    assert "still ran" in faults([silent, run(3, start=0.5)], alone=True)[0]


def test_more_in_use_than_there_is_is_found():
    pair = [run(0, length=2.0), run(1, length=0.5)]
    assert checker.crowded(pair, lambda _: 1, 2) == []
    assert "3 of 2" in checker.crowded([*pair, run(1, start=0.3)], lambda _: 1, 2)[0]
    assert "4 of 3" in checker.crowded(pair, lambda one: 3 if one is pair[0] else 1, 3)[0]
    after = [run(0, length=1.0), run(1, start=0.1)]
    assert checker.crowded(after, lambda _: 1, 1) == [], "one may begin in the moment the other ends"


def test_a_trace_is_read_as_it_was_written(tmp_path):
    trace = tmp_path / "job"
    trace.write_text(f"7 8 {stamp(0)} start {START}.25\n7 8 {stamp(0)} beat {START}.5\n9 10 {stamp(1)} start {START + 1}.0\n"
                     f"7 8 {stamp(0)} end {START}.75\n9 10 {stamp(1)} start {START + 2}.0\n9 10 {stamp(1)} en")
    first, second = checker.read(trace)
    assert (first.instance, first.fence, first.end, first.seen) == (7, 8, START + 0.75, START + 0.75)
    assert (second.starts, second.end) == (2, None)
    assert checker.read(tmp_path / "none") == []
