"""A cluster is upgraded under load, one server and one agent after the other, from the binary of an earlier revision: both
versions work side by side, each with agents of the other, and nothing is lost or run twice."""

import os
import pathlib
import subprocess
import time

import pytest

from cluster import FIGURES, NOT_TESTED, Cluster, figure
from cluster_load import Load
from harness import BIN, SOAK, eventually, seconds

BUILD = pathlib.Path(__file__).parents[2] / "scripts/previous"
HOW = "DULY_PREVIOUS=$(scripts/previous) pytest tests/e2e/test_rolling_upgrade.py (scripts/previous REVISION for another one)"


@pytest.fixture(scope="module")
def previous() -> str:
    """The earlier binary: the one named, or in a long run the one built now."""
    given = os.environ.get("DULY_PREVIOUS")
    if not given and not SOAK:
        NOT_TESTED.append(f"a rolling upgrade from an earlier version: {HOW}")
        pytest.skip(f"SKIPPED LOUDLY: {HOW}")
    return given or subprocess.run([BUILD], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def agents_at_work(cluster: Cluster, load: Load, since: float) -> set[str]:
    """Who has carried out something planned after that."""
    rows = cluster.living()[0].api("GET", "/instances", params={"limit": 500, "job": next(iter(load.jobs))}).json()["items"]
    return {row["agent"] for row in rows if row["state"] == "succeeded" and seconds(row["planned_at"]) > since}


def test_servers_and_agents_are_replaced_one_after_the_other(make, previous):
    cluster = make(servers=3, agents=2, bin=previous)
    load = Load(cluster).start()
    late = []

    def goes_on():
        """Every job runs again, and every agent has its part."""
        since = time.time()
        eventually(lambda: load.caught_up(int(since) + 3), "every job runs on", within=60)
        eventually(lambda: agents_at_work(cluster, load, since) == set(cluster.agents), "every agent works", within=60)
        runs = [run for name in load.jobs if name.startswith("plain") for run in cluster.trace(name)]
        late.extend(run.start - seconds(run.planned) for run in runs if since < seconds(run.planned) < since + 3)

    def upgrade_server(number: int):
        node, other = cluster.nodes[number], cluster.nodes[(number + 1) % 3]
        other.run("cluster", "drain", node.name, check=True)
        eventually(lambda: cluster.share(node) == 0, f"{node.name} has given everything away")
        assert node.stop_politely() == 0
        node.bin = BIN
        node.start()
        node.run("cluster", "undrain", node.name, check=True)
        cluster.settled(within=60)

    def upgrade_agent(name: str):
        """Its tasks run on meanwhile, and the new one reports them."""
        cluster.agents[name].terminate()
        assert cluster.agents[name].wait(timeout=30) == 0
        cluster.join_agent(name, bin=BIN)
        eventually(lambda: cluster.online(name), f"{name} is online everywhere", within=60)

    goes_on()
    upgrade_server(0)
    goes_on()  # agents of the old version, one server of the new
    upgrade_agent("box-1")
    goes_on()  # an agent of the new version, two servers of the old
    upgrade_server(1)
    goes_on()
    upgrade_server(2)
    goes_on()  # an agent of the old version, servers of the new
    upgrade_agent("box-2")
    goes_on()
    seen = load.judge()
    figure("start after the planned time with two versions side by side", late)
    version = subprocess.run([previous, "--version"], capture_output=True, text=True).stdout.strip()
    FIGURES.append(f"rolling upgrade from {version} at {previous}: {seen['fired']} fires judged")
