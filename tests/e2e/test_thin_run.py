"""One thin run through real processes, and one kill -9 of each."""


from harness import eventually, seconds

TICK = """
job: tick
cron: "* * * * * ?"
sh: echo hello
"""


def planned(duly, job="tick"):
    return sorted(seconds(i["planned_at"]) for i in duly.instances(job) if i["state"] == "succeeded")


def assert_consecutive(times):
    assert len(times) == len(set(times)), "a planned second ran twice"
    assert times == list(range(times[0], times[0] + len(times))), "a planned second is missing"


def test_every_second_runs_once(duly):
    duly.apply(TICK)
    eventually(lambda: len(planned(duly)) >= 8, "eight seconds have run", within=30)
    assert_consecutive(planned(duly))
    newest = next(i for i in duly.instances("tick") if i["state"] == "succeeded")
    assert newest["exit_code"] == 0
    log = eventually(lambda: duly.run("log", newest["id"], check=True).stdout, "the log has come")
    assert log.strip().endswith("hello")
    assert duly.run("verify").returncode == 0


def test_a_killed_server_loses_nothing(duly):
    duly.apply(TICK)
    eventually(lambda: len(planned(duly)) >= 3, "three seconds have run")
    agent = duly.agent_pid()
    duly.kill_server()
    duly.up()
    before = len(planned(duly))
    eventually(lambda: len(planned(duly)) >= before + 4, "it goes on after the kill", within=30)
    assert duly.agent_pid() == agent, "the agent that survived was found again, not doubled"
    assert_consecutive(planned(duly))
    assert duly.run("verify").returncode == 0


def test_a_killed_agent_loses_nothing(duly):
    duly.apply(TICK)
    eventually(lambda: len(planned(duly)) >= 3, "three seconds have run")
    duly.kill_agent()
    eventually(duly.agent_pid, "another agent was started")
    before = len(planned(duly))
    eventually(lambda: len(planned(duly)) >= before + 4, "it goes on after the kill", within=30)
    assert_consecutive(planned(duly))
    assert duly.run("verify").returncode == 0


def test_a_second_server_is_refused_by_name(duly):
    second = duly.run("up", "--data", duly.data, "--listen", "127.0.0.1:0")
    assert second.returncode != 0
    assert str(duly.server_pid()) in second.stderr
