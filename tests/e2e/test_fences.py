"""The fence of an exclusive job only grows: whatever keeps the largest it has seen lets every later run through."""

import checker
from harness import eventually


def test_a_run_after_a_retry_has_the_larger_fence(duly, tmp_path):
    work = "sleep 1.1; [ $DULY_ATTEMPT_NO = 2 ] || exit 1"
    duly.apply('job: books\ncron: "0/2 * * * * ?"\nexclusive: wait\nretry: { times: 1, delay: 100ms }\nsh: |\n  ' + checker.task(tmp_path, work))
    runs = eventually(lambda: (seen := checker.read(tmp_path / "books")) and len(seen) >= 6 and seen, "some have run", within=60)
    assert checker.faults(runs, alone=True, retried=True) == []
