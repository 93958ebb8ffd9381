"""Agents from elsewhere: over TLS, to a server that proves who it is."""

import re

import pytest

from harness import Duly, eventually, free_port


def address_of_this_machine() -> str:
    """One by which other machines would reach it."""
    table = open("/proc/net/fib_trie").read()
    own = re.findall(r"\|-- (\d+\.\d+\.\d+\.\d+)\n\s+/32 host LOCAL", table)
    outward = [address for address in own if not address.startswith("127.")]
    if not outward:
        pytest.skip("this machine has no address but loopback")
    return outward[0]


def started(root, host: str) -> Duly:
    root.mkdir(exist_ok=True)
    one = Duly(root).setup()
    one.agent_port = free_port()
    return one.up("--agent-listen", f"0.0.0.0:{one.agent_port}", "--agent-address", host, "--agent-tls")


@pytest.fixture(scope="module")
def host():
    return address_of_this_machine()


@pytest.fixture(scope="module")
def secure(tmp_path_factory, host):
    one = started(tmp_path_factory.mktemp("secure"), host)
    try:
        eventually(one.agent_online, "the local agent is online, over TLS as well")
        yield one
    finally:
        one.stop()


def endpoint(duly: Duly, host: str) -> str:
    return f"https://{host}:{duly.agent_port}"


def words_of(duly: Duly, name: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", (duly.root / f"agent-{name}.log").read_text())


def test_an_agent_joins_and_works_over_tls(secure, host):
    token = secure.json("join-token")["token"]
    assert re.fullmatch(r"\S+@[0-9a-f]{64}", token), "it carries what the server is known by"
    (secure.root / "join-far").write_text(token)
    agent = secure.join_agent("far", "--pool", "far", server=endpoint(secure, host))
    eventually(lambda: secure.online("far"), "it is online")
    instance = secure.apply_and_trigger("there", "pool: { name: far }\nsh: echo hello")
    assert secure.ended(instance)["agent"] == "far"
    eventually(lambda: "hello" in secure.run("log", instance).stdout, "its output came, too")

    # The token is gone; what it learned stays.
    agent.kill()
    agent.wait()
    before = words_of(secure, "far").count("connected to the server")
    again = secure.join_agent("far", server=endpoint(secure, host))
    eventually(lambda: words_of(secure, "far").count("connected to the server") > before, "it comes back")
    again.kill()


def test_a_wrong_fingerprint_is_refused(secure, host):
    token, _ = secure.json("join-token")["token"].split("@")
    (secure.root / "join-cheated").write_text(f"{token}@{'0' * 64}")
    agent = secure.join_agent("cheated", server=endpoint(secure, host))
    eventually(lambda: "is not the one the join token is for" in words_of(secure, "cheated"), "it says why")
    assert not secure.online("cheated")
    agent.kill()


def test_a_token_with_a_fingerprint_is_not_told_in_the_clear(secure, host):
    agent = secure.join_agent("careless", server=endpoint(secure, host).replace("https", "http"))
    eventually(lambda: "write https:// instead" in words_of(secure, "careless"), "it says why")
    agent.kill()


def test_a_server_of_another_authority_is_refused(secure, host, tmp_path):
    agent = secure.join_agent("moved", server=endpoint(secure, host))
    eventually(lambda: secure.online("moved"), "it is online")
    agent.kill()
    agent.wait()
    stranger = started(tmp_path / "stranger", host)
    try:
        agent = secure.join_agent("moved", server=endpoint(stranger, host))
        eventually(lambda: "does not prove to be one of those this agent joined" in words_of(secure, "moved"), "it says why")
        agent.kill()
    finally:
        stranger.stop()


def test_without_tls_the_port_is_for_this_machine(fresh, host):
    fresh.setup()
    done = fresh.run("server", "--data", fresh.data, "--agent-listen", f"{host}:{free_port()}", timeout=30)
    assert done.returncode == 1 and "--agent-tls" in done.stderr, done.stderr
