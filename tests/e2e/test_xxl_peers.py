"""Executors as people run them, unchanged: every SDK against the server, judged by the traces of the executors themselves."""

import itertools
import json
import re
import threading

import pytest

from harness import Duly, eventually
from xxl_peers import KINDS, Peer

TOKEN = "peers-of-many-tongues"
# How long a result may be under way before a run that its executor no longer knows counts as lost.
GUARD_MS = 3000
# What becomes of a run of two seconds when its executor is asked to end meanwhile.
AT_THE_STOP = {
    "java-2.3.1": ("failed", "killed"),
    "java-2.5.0": ("failed", "killed"),
    "java-3.3.2": ("succeeded", "slept"),
    "pyxxl": ("succeeded", "slept"),
    # These two say good-bye and nothing of the run: nobody ever will.
    "executor-go": ("failed", None),
    "node": ("failed", None),
}
apps = (f"app-{n}" for n in itertools.count(1))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("peers")
    (root / "xxl-token").write_text(TOKEN)
    one = Duly(root, env={"DULY_XXL_GUARD_MS": str(GUARD_MS)}).setup().up("--xxl-token-file", root / "xxl-token")
    try:
        yield one
    finally:
        one.stop()


@pytest.fixture(params=KINDS, ids=str)
def kind(request):
    return request.param


@pytest.fixture
def app(server, peers, kind):
    """An application of its own for each test, with one executor that is known to the server."""
    return App(server, peers, kind, next(apps))


class App:
    def __init__(self, server: Duly, peers, kind, name: str):
        self.server, self.kind, self.name = server, kind, name
        self.start_one = lambda: peers(kind, server.url, TOKEN, name)
        self.peers: list[Peer] = []
        self.more()

    @property
    def peer(self) -> Peer:
        return self.peers[0]

    def more(self) -> Peer:
        self.peers.append(self.start_one())
        self.comes(self.peers[-1])
        return self.peers[-1]

    def listed(self, peer: Peer) -> dict | None:
        """As the server knows it."""
        agents = self.server.api("GET", "/agents").json()["items"]
        return next((a for a in agents if a["name"] == peer.address and a.get("kind") == "executor"), None)

    def comes(self, peer: Peer, within: float = 30) -> dict:
        def look():
            seen = self.listed(peer)
            return seen if seen and seen["state"] == "online" else None
        return eventually(look, f"{peer.kind} at {peer.address} is online; its words:\n{peer.last_words()}", within)

    def job(self, handler: str, params: str = "", **keys) -> str:
        """A job of this application for one handler, by name."""
        name = f"{self.name}-{handler}"
        route = keys.pop("route", "first")
        rest = "".join(f"{key}: {value}\n" for key, value in keys.items())
        self.server.apply(f"job: {name}\nexecutor: {{ handler: {handler}, params: {json.dumps(params)} }}\n"
                          f"pool: {{ name: {self.name}, route: {route} }}\n{rest}")
        return name

    def trigger(self, handler: str, params: str = "", **keys) -> int:
        return self.server.trigger(self.job(handler, params, **keys))

    def starts(self, handler: str) -> list:
        return [line for peer in self.peers for line in peer.trace(what="start", handler=handler)]

    def begun(self, handler: str, count: int = 1):
        eventually(lambda: len(self.starts(handler)) >= count, f"{handler} has begun {count} times on {self.kind}")

    def attempts(self, instance: int) -> list:
        return self.server.json("instance", "attempts", instance)["items"]


def lines_of(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"\bline (\d+)\s*$", text, re.M)]


def test_it_registers_and_runs(app):
    seen = app.comes(app.peer)
    assert seen["pools"] == [app.name]
    ended = app.server.ended(app.trigger("ok", "a b"))
    assert ended["state"] == "succeeded", ended
    assert "ok:a b" in ended["message"] and ended["agent"] == app.peer.address
    begun, done = app.peer.trace(handler="ok")
    assert (begun.what, done.what, begun.param) == ("start", "end", "a_b")
    assert begun.log == ended["attempt"]
    assert begun.job == app.server.api("GET", f"/jobs/{ended['job']}").json()["xxl_job_id"]


def test_a_person_tells_it_other_words(app):
    name = app.job("ok", "as planned")
    ended = app.server.ended(app.server.trigger(name, "--text", "as I like"))
    assert "ok:as I like" in ended["message"]
    ended = app.server.ended(app.server.trigger(name, "--text", ""))
    assert re.fullmatch('"?ok:"?', ended["message"])


def test_a_failure_arrives_with_its_words_and_is_tried_again(app):
    ended = app.server.ended(app.trigger("fail", retry="{ times: 1, delay: 0s }"))
    assert (ended["state"], ended["reason"]) == ("dead", "exit"), ended
    assert "wanted" in ended["message"] and ended["exit_code"] == 500
    assert [line.log for line in app.starts("fail")] == sorted(a["id"] for a in app.attempts(ended["id"]))
    assert ended["attempt_no"] == 2


def test_an_unknown_handler_is_refused_in_its_words(app):
    ended = app.server.ended(app.trigger("nobody"))
    assert (ended["state"], ended["reason"]) == ("failed", "refused"), ended
    assert re.search("not found|not registered|No matched", ended["message"])


def test_a_run_that_takes_too_long_ends_in_time(app):
    ended = app.server.ended(app.trigger("sleep", "60000", timeout="1s"))
    assert ended["state"] == "failed", ended
    assert ended["reason"] == "timeout" or re.search("timeout", ended["message"], re.I), ended
    eventually(lambda: app.peer.trace(what="cut", handler="sleep"), "the handler was cut short")


def test_a_handler_that_hears_no_timeout_is_given_up_on(app):
    # One SDK waits for the handler whatever happens: then it is the server that ends it, some seconds later.
    ms = 12_000 if app.kind.language == "go" else 4_000
    instance = app.trigger("stubborn", str(ms), timeout="1s", stop_grace="1s")
    ended = app.server.ended(instance)
    assert not app.peer.trace(what="end", handler="stubborn"), "the server waited for it"
    assert ended["state"] == "failed" and (ended["reason"] == "timeout" or re.search("timeout", ended["message"], re.I)), ended
    eventually(lambda: app.peer.trace(what="end", handler="stubborn"), "it ended after all")
    # Its late word has come when a later word of the same executor has.
    assert app.server.ended(app.trigger("ok"))["state"] == "succeeded"
    assert app.server.json("instance", "show", instance)["state"] == "failed"


def test_a_stop_reaches_the_handler(app):
    instance = app.trigger("sleep", "60000", retry="{ times: 2, delay: 0s }")
    app.begun("sleep")
    app.server.run("instance", "stop", instance, "--wait", check=True)
    ended = app.server.ended(instance)
    assert ended["state"] == "stopped" and ended["stopping"] == {"by": "ada"}, ended
    eventually(lambda: app.peer.trace(what="cut", handler="sleep"), "the handler was cut short")
    # The executor is as before, and what a person stopped is not tried again.
    assert app.server.ended(app.trigger("sleep", "10"))["state"] == "succeeded"
    assert len(app.starts("sleep")) == 2 and app.server.json("instance", "show", instance)["state"] == "stopped"


def test_runs_in_a_line_all_succeed_once(app):
    """The next is sent the moment a result is in, while some SDKs still hold the last run in their hands."""
    name = app.job("ok", "next", overlap="queue")
    instances = [app.server.trigger(name) for _ in range(12)]
    ended = [app.server.ended(i) for i in instances]
    assert [e["state"] for e in ended] == ["succeeded"] * 12, [e.get("message") for e in ended]
    assert sorted(line.log for line in app.starts("ok")) == sorted(e["attempt"] for e in ended)


def test_two_jobs_of_one_handler_keep_their_results_apart(app):
    """One SDK gives every result the number of the run that began last, whichever ended."""
    long, short = f"{app.name}-long", f"{app.name}-short"
    for name, ms in [(long, 1500), (short, 200)]:
        app.server.apply(f'job: {name}\nexecutor: {{ handler: sleep, params: "{ms}" }}\npool: {app.name}\ntimeout: 10s\n')
    first = app.server.trigger(long)
    app.begun("sleep")
    second = app.server.trigger(short)
    short, long = app.server.ended(second), app.server.ended(first)
    assert short["state"] == "succeeded", short
    # There its own result never comes: it may fail in its time, it may not be forgotten.
    assert long["state"] == "succeeded" or app.kind.language == "go", long
    assert [line.log for line in app.starts("sleep")] == [long["attempt"], short["attempt"]]


def test_three_share_a_broadcast(app):
    app.more()
    app.more()
    instance = app.trigger("shard", route="broadcast")
    assert app.server.ended(instance)["state"] == "succeeded"
    shares = app.server.json("instance", "list", "--parent", instance)["items"]
    assert sorted(s["message"].strip('"') for s in shares) == ["0/3", "1/3", "2/3"]
    assert [s["agent"] for s in sorted(shares, key=lambda s: s["part"]["index"])] == sorted(p.address for p in app.peers)
    for peer in app.peers:
        [line] = peer.trace(what="start", handler="shard")
        share = next(s for s in shares if s["agent"] == peer.address)
        assert (line.index, line.total, line.log) == (share["part"]["index"], 3, share["attempt"])


def test_its_log_is_read_whole_and_in_order(app):
    instance = app.trigger("chatty", "2500")
    assert app.server.ended(instance)["state"] == "succeeded"
    eventually(lambda: lines_of(app.server.run("log", instance, check=True).stdout) == list(range(1, 2501)),
               "all 2500 lines, once, in order", every=0.5)


def test_its_log_rolls_while_it_runs(app):
    instance = app.trigger("chatty", "60:50")
    app.begun("chatty")
    said = []
    follow = threading.Thread(target=lambda: said.append(app.server.run("log", instance, "--follow", check=True).stdout))
    follow.start()
    eventually(lambda: 5 <= len(lines_of(app.server.run("log", instance, check=True).stdout)) < 60, "the log grows under way")
    assert app.server.json("instance", "show", instance)["state"] == "running"
    follow.join(timeout=60)
    assert lines_of(said[0]) == list(range(1, 61)), said
    assert app.server.ended(instance)["state"] == "succeeded"


def test_a_graceful_stop_takes_it_off_the_list_at_once(app):
    instance = app.trigger("sleep", "2000", lost_after="5s")
    app.begun("sleep")
    app.peer.stop()
    seen = app.listed(app.peer)
    assert seen is None or seen["state"] != "online", "it had said good-bye before it ended"
    state, word = AT_THE_STOP[app.kind.name]
    ended = app.server.ended(instance, within=40)
    assert ended["state"] == state and (word is None or word in ended["message"]), ended
    assert word or ended["reason"] == "lost", ended
    assert len(app.starts("sleep")) == 1
    # Nobody is there: what comes meanwhile waits, and runs once there is somebody.
    waiting = app.trigger("ok", "later")
    assert app.server.json("instance", "show", waiting)["state"] in ("ready", "dispatched")
    app.more()
    assert app.server.ended(waiting)["state"] == "succeeded"
    assert len(app.starts("ok")) == 1


def test_a_crash_and_a_return(app):
    running = app.trigger("sleep", "60000")
    app.begun("sleep")
    app.peer.kill()
    # The server learns it from the refused connection: nothing failed yet, nothing was run twice.
    waiting = app.trigger("ok", "after the crash")
    app.peer.start()
    assert app.server.ended(waiting, within=60)["state"] == "succeeded"
    assert len(app.starts("ok")) == 1
    # The executor that came back knows nothing of the run; a guard later that is an answer.
    ended = app.server.ended(running, within=60)
    assert (ended["state"], ended["reason"]) == ("failed", "lost"), ended
    assert len(app.starts("sleep")) == 1
    assert app.comes(app.peer)["pools"] == [app.name]


def test_a_return_so_quick_that_nobody_missed_it(app):
    """No connection was refused and no beat left out: only its own word that it is idle tells that the run is gone."""
    # That word counts from one who has been heard to say busy: here, while this went on.
    assert app.server.ended(app.trigger("sleep", str(GUARD_MS)))["state"] == "succeeded"
    running = app.trigger("sleep", "60000")
    app.begun("sleep", 2)
    app.peer.kill()
    app.peer.start()
    ended = app.server.ended(running, within=60)
    assert (ended["state"], ended["reason"]) == ("failed", "lost"), ended
    assert app.server.ended(app.trigger("ok"))["state"] == "succeeded"
    assert len(app.starts("sleep")) == 2


def test_a_crash_moves_the_rest_to_another(app):
    """Of two executors one is gone without a word: what would have gone to it runs on the other, at once and once."""
    other = app.more()
    # One of the kits refuses a second run of a job while the first goes on.
    name = app.job("ok", "anyone", route="round", overlap="queue")
    app.peer.kill()
    instances = [app.server.trigger(name) for _ in range(6)]
    ended = [app.server.ended(i, within=15) for i in instances]
    assert [(e["state"], e["agent"]) for e in ended] == [("succeeded", other.address)] * 6
    assert len(app.starts("ok")) == 6
