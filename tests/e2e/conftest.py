import json
import os
import pathlib
import re
import subprocess
import tempfile

import pytest

import xxl_peers
from browser import chromium, open_page  # noqa: F401  (fixtures)
from cluster import FIGURES, NOT_TESTED, Cluster
from harness import BIN, PASSWORD, Duly, eventually
from network import Network
from postgres import fresh_database
from slow_link import Links
from xxl_door import Door
from xxl_stub import TOKEN, Executor

README = pathlib.Path(__file__).parents[2] / "README.md"


@pytest.fixture
def duly(tmp_path, request):
    """A set-up, running installation with its agent online; on the store a test is parametrized with, if it is."""
    on_postgres = getattr(request, "param", None) == "postgres"
    one = Duly(tmp_path, env={"DULY_STORE": fresh_database()} if on_postgres else None).setup().up()
    try:
        eventually(one.agent_online, "the local agent is online", within=30)
        yield one
    finally:
        one.stop()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One running installation for all tests of a file that leave each other alone."""
    one = Duly(tmp_path_factory.mktemp("shared")).setup().up()
    try:
        eventually(one.agent_online, "the local agent is online", within=30)
        yield one
    finally:
        one.stop()


@pytest.fixture
def fresh(tmp_path):
    """An installation that has not been set up or started."""
    one = Duly(tmp_path)
    try:
        yield one
    finally:
        one.stop()


@pytest.fixture
def make():
    """Clusters of a test's own, gone with it."""
    made = []
    with tempfile.TemporaryDirectory(prefix="duly-", ignore_cleanup_errors=True) as short:
        short = pathlib.Path(short)
        short.chmod(0o755)

        def make(servers: int = 3, agents: int = 1, **more) -> Cluster:
            (short / "c").mkdir()
            one = Cluster(short / "c", short, servers, **more)
            made.append(one)
            one.start()
            for n in range(agents):
                one.join_agent(f"box-{n + 1}")
            eventually(lambda: one.online(*one.agents), "every agent is online at every server", within=60)
            return one
        yield make
        for one in made:
            one.stop()


@pytest.fixture
def links():
    one = Links()
    try:
        yield one
    finally:
        one.stop()


@pytest.fixture
def network():
    one = Network().start()
    try:
        yield one
    finally:
        one.stop()


@pytest.fixture
def peers(tmp_path):
    """Starts XXL-JOB executors and ends them with the test, which is left out where one cannot be had."""
    started = []

    def start(kind: xxl_peers.Kind, server: str, token: str, app: str) -> xxl_peers.Peer:
        try:
            xxl_peers.built(kind)
        except xxl_peers.Unavailable as reason:
            pytest.skip(f"{kind} is not to be had here: {reason}")
        started.append(xxl_peers.Peer(kind, server, token, app, tmp_path))
        return started[-1].start()
    try:
        yield start
    finally:
        for peer in started:
            peer.kill()


@pytest.fixture(scope="module")
def xxl(tmp_path_factory, request):
    """One running installation that XXL-JOB executors connect to; a file's XXL_ENV and XXL_FLAGS go with it."""
    one = Duly(tmp_path_factory.mktemp("xxl"), env=getattr(request.module, "XXL_ENV", None)).setup()
    token = one.root / "xxl-token"
    token.write_text(TOKEN + "\n")
    one.door, one.flags = Door(one.url, TOKEN), ("--xxl-token-file", token, *getattr(request.module, "XXL_FLAGS", ()))
    try:
        yield one.up(*one.flags)
    finally:
        one.stop()


@pytest.fixture
def executor(xxl, request):
    """Makes stub executors of an app of this test's own; they are gone when it ends."""
    made = []
    name = re.sub("[^a-z0-9]+", "-", request.node.name.lower()).removeprefix("test-").strip("-")

    def make(app: str = name, **how) -> Executor:
        made.append(Executor(xxl.door, app, **how))
        return made[-1]
    yield make
    for one in made:
        one.close()


def pytest_collection_modifyitems(items):
    """What needs a full minute is judged last, so that the minute passes beside the other tests."""
    items.sort(key=lambda item: "ticking" in item.fixturenames)


def pytest_terminal_summary(terminalreporter):
    """A peer that could not be had is no failure, but nobody shall believe that it was tested."""
    if xxl_peers.left_out:
        terminalreporter.section("XXL-JOB executors NOT tested", sep="!", red=True)
        for name, reason in xxl_peers.left_out.items():
            terminalreporter.line(f"{name}: {reason}", red=True)
    if NOT_TESTED:
        terminalreporter.section("NOT tested", sep="!", red=True)
        for line in NOT_TESTED:
            terminalreporter.line(line, red=True)
    if FIGURES:
        terminalreporter.section("measured under faults")
        for line in FIGURES:
            terminalreporter.line(line)


@pytest.fixture(scope="session", autouse=True)
def first_of_all(request):
    if any("ticking" in item.fixturenames for item in request.session.items):
        request.getfixturevalue("ticking")


@pytest.fixture(scope="session")
def ticking(tmp_path_factory):
    """The README's first minute, line by line in its own directory; only the port is ours."""
    one = Duly(tmp_path_factory.mktemp("ticking"))
    blocks = re.findall(r"```(\w+)\n(.*?)```", README.read_text(), re.S)
    (one.root / "tick.yaml").write_text(next(text for kind, text in blocks if kind == "yaml" and "job: tick" in text))
    setup, up = next(text for kind, text in blocks if kind == "sh" and "duly setup" in text).strip().splitlines()
    one.data = one.root / "duly-data"
    env = {**one.env, "PATH": f"{pathlib.Path(BIN).parent}:{os.environ['PATH']}", "DULY_URL": one.url, "DULY_LISTEN": f"127.0.0.1:{one.port}",
           "DULY_CREDENTIALS": str(one.root / "who.json")}
    subprocess.run(["sh", "-ec", setup], cwd=one.root, env=env, input=PASSWORD + "\n", text=True, check=True)
    one.token_file.write_text(next(iter(json.loads((one.root / "who.json").read_text()).values())))
    with open(one.root / "server-1.log", "wb") as log:
        one.server = subprocess.Popen(["sh", "-c", f"exec {up}"], cwd=one.root, env=env, stdout=log, stderr=log, start_new_session=True)
    try:
        eventually(one.is_ready, "it serves", within=60)
        subprocess.run(["sh", "-ec", "duly job apply -f tick.yaml --yes"], cwd=one.root, env=env, check=True)
        yield one
    finally:
        one.stop()
