"""A run's log is read through its executor, whatever its SDK makes of it; whether it has ended is for our own books to say."""

import subprocess

import pytest

import harness
from harness import eventually
from xxl_stub import Reply, refuse


class Written:
    """A log file at an executor, and how its SDK answers for it."""

    def __init__(self, *lines: str, key: str = "content", end: bool | None = False, line_end: str = "\n"):
        self.lines, self.key, self.end, self.line_end = list(lines), key, end, line_end

    def __call__(self, call) -> Reply:
        first = call.json()["fromLineNum"]
        text = "".join(line + self.line_end for line in self.lines[first - 1:])
        page = {"fromLineNum": first, "toLineNum": len(self.lines), "logContent": text}
        if self.end is not None:
            page["isEnd"] = self.end
        both = {"content": page, "data": page} if self.key == "both" else {self.key: page}
        return Reply({"code": 200, **both})


def started(xxl, stub) -> tuple[int, dict]:
    xxl.apply(stub.job(stub.app))
    instance = xxl.trigger(stub.app)
    return instance, stub.run_of(xxl.wait_state(instance, "running"))


def log(xxl, instance: int):
    return xxl.run("log", instance)


@pytest.mark.parametrize("written", [
    Written("one", "two 夜间"),
    Written("one", "two 夜间", key="data"),
    Written("one", "two 夜间", key="both", end=True),
    Written("one", "two 夜间", end=None),
    Written("one", "two 夜间", line_end="\r\n"),
], ids=["2.x", "3.3 and later", "python", "without an end", "windows"])
def test_every_sdks_page_is_read(xxl, executor, written):
    stub = executor().on("log", written).register(every=10)
    instance, run = started(xxl, stub)
    assert log(xxl, instance).stdout.split() == ["one", "two", "夜间"]
    written.lines.append("three")
    stub.finish(run, 200)
    xxl.ended(instance)
    assert log(xxl, instance).stdout.split() == ["one", "two", "夜间", "three"]
    for call in stub.to("log"):
        asked = call.json()
        assert (asked["logId"], asked["logDateTim"], asked["logDateTime"]) == (run["logId"], run["logDateTime"], run["logDateTime"])
        assert asked["fromLineNum"] >= 1


def test_a_followed_log_goes_on_until_the_run_has_ended(xxl, executor):
    """Executors call a pause the end."""
    written = Written("one", end=True)
    stub = executor().on("log", written).register(every=10)
    instance, run = started(xxl, stub)
    follow = subprocess.Popen([harness.BIN, "log", str(instance), "--follow"], stdout=subprocess.PIPE, text=True,
                              env=dict(xxl.env, DULY_URL=xxl.url, DULY_TOKEN=xxl.token_file.read_text()))
    try:
        assert follow.stdout.readline() == "one\n"
        written.lines.append("two")
        assert follow.stdout.readline() == "two\n"
        assert follow.poll() is None
        written.lines.append("three")
        stub.finish(run, 200)
        assert follow.stdout.read() == "three\n", "no gap, no repeat, what came last included"
        assert follow.wait(timeout=20) == 0
    finally:
        follow.kill()


@pytest.mark.parametrize("reply", [refuse("not yet support"), Reply({"code": 200, "msg": None}), Reply(b"<html>", status=404)],
                         ids=["refused", "no page", "no such call"])
def test_an_executor_without_logs_is_said_to_have_none(xxl, executor, reply):
    stub = executor().on("log", reply).register(every=10)
    instance, run = started(xxl, stub)
    stub.finish(run, 200, "well")
    xxl.ended(instance)
    done = log(xxl, instance)
    assert "its executor" in done.stdout + done.stderr, "an empty page without a reason helps nobody"


def test_a_log_whose_executor_is_gone_says_so(xxl, executor):
    stub = executor().on("log", Written("one")).register(every=10)
    instance, run = started(xxl, stub)
    stub.finish(run, 200)
    xxl.ended(instance)
    stub.vanish()
    done = log(xxl, instance)
    assert str(stub.port) in done.stdout + done.stderr, (done.stdout, done.stderr)
    stub.listen()
    stub.register()
    eventually(lambda: log(xxl, instance).stdout == "one\n", "it is back, and so is the log")


def test_only_the_runs_own_executor_is_asked(xxl, executor):
    one, other = (executor().on("log", Written(word)).register(every=10) for word in ("one", "other"))
    xxl.apply(one.job(one.app))
    instance = xxl.trigger(one.app, "--on", one.address)
    one.finish(one.run(), 200)
    xxl.ended(instance)
    other_calls = len(other.calls)
    assert log(xxl, instance).stdout == "one\n"
    assert len(other.calls) == other_calls
