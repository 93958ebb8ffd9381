"""Real XXL-JOB executors for the end-to-end tests: built from their registries once, run as they come.

A build is kept under target/peers by the hash of what it is made of. What cannot be built here is told by name, and
only that peer is left out.
"""

import dataclasses
import functools
import hashlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys

import requests

from harness import eventually, free_port

SOURCES = pathlib.Path(__file__).parent / "peers"
BUILDS = pathlib.Path(__file__).parents[2] / "target" / "peers"
BUILD_WITHIN = 900


class Unavailable(Exception):
    """This peer cannot be had on this machine, and why."""


# Why a peer was left out, by its name: told again at the end of the run.
left_out: dict[str, str] = {}


@dataclasses.dataclass(frozen=True)
class Kind:
    """One SDK in one version, and how its users write the server's address."""

    name: str
    language: str
    version: str
    admin: str
    # What follows host and port in the address it registers.
    path: str
    more: str = ""

    def __str__(self):
        return self.name


KINDS = [
    Kind("java-2.3.1", "java", "2.3.1", "/xxl-job-admin", "/", more="1.7.36"),
    Kind("java-2.5.0", "java", "2.5.0", "/xxl-job-admin/", "/", more="2.0.16"),
    Kind("java-3.3.2", "java", "3.3.2", "", "/", more="2.0.17"),
    Kind("pyxxl", "python", "0.4.8", "/xxl-job-admin", ""),
    # With the slash its users leave at the end it asks for //api/registry.
    Kind("executor-go", "go", "1.2.0", "/", ""),
    Kind("node", "node", "0.1.7", "/xxl-job-admin", "/job"),
]


def built(kind: Kind) -> pathlib.Path:
    """Where it lies ready to run. Raises Unavailable, every time with the reason of the first."""
    if kind.name in left_out:
        raise Unavailable(left_out[kind.name])
    try:
        return build(kind)
    except Unavailable as reason:
        left_out[kind.name] = str(reason)
        raise


@functools.cache
def build(kind: Kind) -> pathlib.Path:
    home = BUILDS / f"{kind.name}-{fingerprint(kind)}"
    if home.exists():
        return home
    half = BUILDS / f"half-{home.name}-{os.getpid()}"
    shutil.rmtree(half, ignore_errors=True)
    shutil.copytree(SOURCES / kind.language, half)
    try:
        BUILDERS[kind.language](kind, half)
    except BaseException:
        shutil.rmtree(half, ignore_errors=True)
        raise
    try:
        half.rename(home)
    except OSError:
        shutil.rmtree(half)  # somebody else was quicker
    return home


def fingerprint(kind: Kind) -> str:
    of = hashlib.sha256(repr(dataclasses.astuple(kind)).encode())
    for file in sorted(p for p in (SOURCES / kind.language).rglob("*") if p.is_file()):
        of.update(str(file.relative_to(SOURCES)).encode() + b"\0" + file.read_bytes() + b"\0")
    return of.hexdigest()[:12]


def build_java(kind: Kind, home: pathlib.Path):
    need("javac", "java", "mvn")
    major = int(re.search(r"(\d+)", made(home, "javac", "-version")).group(1))
    if int(kind.version[0]) >= 3 and major < 17:
        raise Unavailable(f"xxl-job-core {kind.version} needs a JDK of 17 or newer, this is {major}")
    made(home, "mvn", "-q", "-B", f"-Dcore={kind.version}", f"-Dslf4j={kind.more}", "dependency:copy-dependencies",
         "-DincludeScope=runtime", f"-DoutputDirectory={home / 'lib'}")
    sources = [str(p) for p in (home / "src").rglob("*.java")]
    made(home, "javac", "-nowarn", "-encoding", "UTF-8", "-cp", str(home / "lib" / "*"), "-d", str(home / "classes"), *sources)


def build_go(kind: Kind, home: pathlib.Path):
    need("go")
    made(home, "go", "build", "-o", "peer", ".", env={"GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0"})


def build_node(kind: Kind, home: pathlib.Path):
    need("node", "npm")
    made(home, "npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")


def build_python(kind: Kind, home: pathlib.Path):
    made(home, sys.executable, "-m", "venv", "--without-pip", "venv")
    made(home, sys.executable, "-m", "pip", "--python", "venv/bin/python", "install", "-q", "-r", "requirements.txt")


BUILDERS = {"java": build_java, "go": build_go, "node": build_node, "python": build_python}


def need(*programs: str):
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)}; scripts/need peers installs it")


def made(home: pathlib.Path, *command: str, env: dict | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=home, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=BUILD_WITHIN)
    except subprocess.TimeoutExpired as late:
        raise Unavailable(f"{command[0]} did not end within {BUILD_WITHIN} s") from late
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(command[:4])} … ended with {done.returncode}: {done.stdout.strip()[-400:]}")
    return done.stdout


def command(kind: Kind, home: pathlib.Path) -> list[str]:
    match kind.language:
        case "java":
            small = ["-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
            return ["java", *small, "-cp", f"{home / 'classes'}:{home / 'lib'}/*", "peer.Peer"]
        case "go":
            return [str(home / "peer")]
        case "node":
            return ["node", str(home / "index.js")]
        case "python":
            return [str(home / "venv/bin/python"), str(home / "peer.py")]


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a trace: what a handler did, in the peer's own words and time."""

    what: str
    handler: str
    param: str
    index: int
    total: int
    at_ms: int
    job: int
    log: int


class Peer:
    """One executor on a port of its own; stopped and started again it keeps port, logs and trace."""

    def __init__(self, kind: Kind, server: str, token: str, app: str, root: pathlib.Path, port: int | None = None):
        self.kind, self.app, self.port = kind, app, port or free_port()
        self.address = f"http://127.0.0.1:{self.port}{kind.path}"
        self.home = root / f"{kind.name}-{self.port}"
        self.logs, self.trace_file, self.words = self.home / "logs", self.home / "trace", self.home / "words"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.process: subprocess.Popen | None = None
        self.env = {**os.environ, "PEER_ADMIN": server + kind.admin, "PEER_TOKEN": token, "PEER_APP": app,
                    "PEER_PORT": str(self.port), "PEER_TRACE": str(self.trace_file), "PEER_LOGS": str(self.logs)}

    def start(self, wait: bool = True):
        with open(self.words, "ab") as words:
            self.process = subprocess.Popen(command(self.kind, built(self.kind)), cwd=self.logs, env=self.env, stdout=words,
                                            stderr=words, start_new_session=True)
        if wait:
            self.listening()
        return self

    def listening(self, within: float = 60):
        def look():
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.kind} ended with {self.process.returncode}:\n{self.last_words()}")
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        eventually(look, f"{self.kind} listens on {self.port}", within)

    def stop(self, within: float = 60) -> int:
        """As its operator stops it: it may say good-bye."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=within)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def trace(self, **what) -> list[Line]:
        """What really ran here, oldest first; only lines with these values."""
        text = self.trace_file.read_text() if self.trace_file.exists() else ""
        lines = [line_of(words.split(" ")) for words in text.splitlines()]
        return [line for line in lines if all(getattr(line, key) == value for key, value in what.items())]

    def last_words(self, lines: int = 30) -> str:
        text = self.words.read_text(errors="replace") if self.words.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def ask(self, path: str, body) -> dict:
        """Speaks to it as a server does, for tests of the peer itself."""
        answer = requests.post(self.address.rstrip("/") + path, json=body, timeout=10,
                               headers={"XXL-JOB-ACCESS-TOKEN": self.env["PEER_TOKEN"]})
        answer.raise_for_status()
        return answer.json()


def line_of(words: list[str]) -> Line:
    what, handler, param, shard, at, job, log = words
    index, total = shard.split("/")
    return Line(what, handler, "" if param == "-" else param, int(index), int(total), int(at), number(job), number(log))


def number(named: str) -> int:
    value = named.split("=")[1]
    return -1 if value == "?" else int(value)
