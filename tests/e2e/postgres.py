"""A PostgreSQL of a test's own: a directory, a socket in it, every sync it would do for real. It can be killed."""

import atexit
import functools
import itertools
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile


@functools.cache
def shared() -> "Postgres":
    """One for the whole run, for tests that do nothing to the database itself."""
    root = pathlib.Path(tempfile.mkdtemp(prefix="duly-pg-"))
    root.chmod(0o755)
    one = Postgres(root / "pg").start()
    atexit.register(lambda: (one.stop(), shutil.rmtree(root, ignore_errors=True)))
    return one


numbers = itertools.count(1)


def fresh_database() -> str:
    """The address of an empty database of its own, in the shared one."""
    name = f"test{next(numbers)}"
    shared().run(f"create database {name}")
    return shared().address.removesuffix("/postgres") + f"/{name}"


def programs() -> pathlib.Path:
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    here = found[-1] if found else shutil.which("initdb")
    assert here, "PostgreSQL is not installed; scripts/need tests does that"
    return pathlib.Path(here).parent


def ask(address: str, text: str) -> str:
    """What the database at this address says to it."""
    return subprocess.run([programs() / "psql", "-AtX", "-c", text, address], capture_output=True, text=True, check=True).stdout.strip()


def dump(address: str) -> str:
    """All that is in it, as text; bytes are in hexadecimal."""
    return subprocess.run([programs() / "pg_dump", address], capture_output=True, text=True, check=True).stdout


class Postgres:
    def __init__(self, root: pathlib.Path, place=None, made: tuple = (), settings: dict | None = None,
                 owns: tuple = ()):
        """`place`: where in a network of the test's own it runs, if not only behind its socket; `made`: what else `initdb` is
        told, and `settings`: what else the database is; `owns`: directories it needs besides."""
        # Short, because the path of a socket must be, and open to whoever the database runs as.
        self.root, self.bin, self.process, self.place = root, programs(), None, place
        self.settings = {"shared_buffers": "64MB", **(settings or {})}
        self.user = "postgres" if os.geteuid() == 0 else None
        for directory in (self.root, *owns):
            self.own(directory)
        self.make("initdb", "--auth=trust", "--username=duly", "--encoding=UTF8", "--no-sync", "-D", self.root / "data", *made)
        if place:
            with open(self.root / "data" / "pg_hba.conf", "a") as rules:
                rules.write("host all all samenet trust\n")

    def own(self, directory: pathlib.Path):
        directory.mkdir(mode=0o755)
        if self.user:
            owner = pwd.getpwnam(self.user)
            os.chown(directory, owner.pw_uid, owner.pw_gid)

    def make(self, program: str, *words):
        """Has one of its programs make something, as the user it runs as."""
        subprocess.run([self.bin / program, *words], check=True, capture_output=True, cwd=self.root, user=self.user)

    @property
    def address(self) -> str:
        if self.place:
            return f"postgres://duly@{self.place.host}:5432/postgres?sslmode=disable"
        return f"postgres://duly@{str(self.root).replace('/', '%2F')}/postgres"

    def start(self):
        log = open(self.root / "log", "ab")
        listen = self.place.host if self.place else ""
        command = [self.bin / "postgres", "-D", self.root / "data", "-k", self.root, "-c", f"listen_addresses={listen}",
                   *(word for name, value in self.settings.items() for word in ("-c", f"{name}={value}"))]
        if self.place:
            # Only root may enter a namespace, so whom it runs as is changed inside.
            command = [*self.place.inside, "setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", *command]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.root,
                                        user=None if self.place else self.user)
        from harness import eventually
        eventually(self.answers, f"PostgreSQL answers; its words are in {self.root / 'log'}", within=60)
        return self

    def run(self, text: str) -> str:
        done = subprocess.run([self.bin / "psql", "-h", self.root, "-U", "duly", "-AtX", "-c", text, "postgres"],
                              capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def answers(self) -> bool:
        return self.run("select 1") == "1"

    def send(self, what: signal.Signals) -> list[int]:
        """To the first of its processes and all others; whom it was sent to."""
        first = self.process.pid
        all = [first, *map(int, pathlib.Path(f"/proc/{first}/task/{first}/children").read_text().split())]
        for pid in all:
            try:
                os.kill(pid, what)
            except ProcessLookupError:
                pass
        return all

    def kill(self):
        """As a power cut takes it."""
        all = self.send(signal.SIGKILL)
        self.process.wait()
        from harness import alive, eventually
        eventually(lambda: not any(alive(pid) for pid in all), "all of PostgreSQL is gone")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
        shutil.rmtree(self.root, ignore_errors=True)
