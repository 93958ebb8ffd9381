"""Agents from elsewhere: over TLS, to a server that proves who it is."""

import re
import shutil
import subprocess

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
    return one.up("--agent-listen", f"0.0.0.0:{one.agent_port}", "--agent-address", host)


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
    done = fresh.run("server", "--data", fresh.data, "--agent-listen", f"{host}:{free_port()}", "--agent-plain", timeout=30)
    assert done.returncode == 1 and "--agent-plain" in done.stderr, done.stderr


@pytest.mark.skipif(not shutil.which("openssl"), reason="this machine has no openssl to make certificates with")
def test_a_company_may_bring_its_own_certificate(tmp_path, host):
    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, cwd=tmp_path)

    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
            "-days", 2, "-subj", "/CN=Company", "-addext", "basicConstraints=critical,CA:TRUE")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "duly.key", "-out", "duly.csr", "-subj", "/CN=duly")
    (tmp_path / "names").write_text(f"subjectAltName=IP:{host}\n")
    openssl("x509", "-req", "-in", "duly.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", 1, "-extfile", "names", "-out", "duly.pem")
    own = ["--agent-cert", tmp_path / "duly.pem", "--agent-key", tmp_path / "duly.key", "--agent-ca", tmp_path / "ca.pem"]

    one = Duly(tmp_path).setup()
    one.agent_port = free_port()
    # For another name it is refused at the start, with what is wrong.
    wrong = one.run("server", "--data", one.data, "--agent-address", "other.example", *own, timeout=30)
    assert wrong.returncode == 1 and "E0986" in wrong.stderr and "is not for other.example" in wrong.stderr, wrong.stderr
    one.up("--agent-listen", f"0.0.0.0:{one.agent_port}", "--agent-address", host, *own)
    try:
        eventually(one.agent_online, "the local agent is online, over TLS as well")
        agent = one.join_agent("told", server=endpoint(one, host))
        eventually(lambda: one.online("told"), "a token is enough")
        agent.kill()
        (one.root / "join-trusting").write_text(one.json("join-token")["token"].split("@")[0])
        agent = one.join_agent("trusting", "--ca", tmp_path / "ca.pem", server=endpoint(one, host))
        eventually(lambda: one.online("trusting"), "so is the authority")
        agent.kill()
    finally:
        one.stop()
