"""A stub of an XXL-JOB executor: it listens, writes down every byte it is sent, and answers as it is told to.

It stands on bare sockets, because what the real ones do cannot be said through an HTTP library: heads with bare line
feeds, answers that never come, kinds that lie, listeners that go away and come back.
"""

import json
import socket
import threading
import time
from dataclasses import dataclass, field

from harness import eventually
from xxl_door import APP_HEADER, DIALECTS, Door

TOKEN = "quiet-harbour-7"

# ---- answers


@dataclass
class Reply:
    body: object
    status: int = 200
    kind: str = "text/html;charset=UTF-8"
    line_end: str = "\r\n"
    close: bool = False
    """Ends the connection after this answer, and says so."""
    drop: bool = False
    """Ends it, and says that it will not."""
    hold: threading.Event | None = None
    """The answer leaves only once this is set."""

    raw: bytes | None = None
    """The whole answer, head and all, as it stands."""

    def bytes(self) -> bytes:
        if self.raw is not None:
            return self.raw
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body, ensure_ascii=False).encode()
        head = [f"HTTP/1.1 {self.status} {'OK' if self.status == 200 else 'Odd'}", f"Content-Type: {self.kind}",
                f"Content-Length: {len(body)}", f"Connection: {'close' if self.close else 'keep-alive'}", "", ""]
        return self.line_end.join(head).encode() + body

    def is_yes(self) -> bool:
        body = json.loads(self.body) if isinstance(self.body, bytes) else self.body
        return self.status == 200 and isinstance(body, dict) and int(body["code"]) == 200


def ok(**more) -> Reply:
    return Reply({"code": 200, **more})


def refuse(message: str, code: int = 500, **more) -> Reply:
    return Reply({"code": code, "msg": message}, **more)


def held(until: threading.Event, reply: Reply | None = None) -> Reply:
    reply = reply or ok()
    reply.hold = until
    return reply


HANG_UP = Reply(None)
"""Reads the request and closes the connection without a word."""

BUSY = refuse("job thread is running or has trigger queue.")
NO_LOG = Reply({"code": 200, "content": {"fromLineNum": 1, "toLineNum": 0, "logContent": "readLog fail, logFile not exists", "isEnd": True}})
KILLED = ok(msg="job thread already killed.")

# ---- what came


@dataclass
class Call:
    at: float
    line: str
    head: list[tuple[str, str]]
    """Names and values in their order and spelling."""
    body: bytes
    raw_head: bytes = field(repr=False, default=b"")

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]

    @property
    def path(self) -> str:
        return self.line.split(" ")[1]

    def header(self, name: str) -> str | None:
        """By its exact spelling."""
        return next((value for key, value in self.head if key == name), None)

    def json(self):
        return json.loads(self.body)


class Executor:
    """One executor: an address, an app, and the admin it belongs to. `result` is what each run ends with by itself:
    (code, text), or None to leave it to the test."""

    def __init__(self, door: Door, app: str, path: str = "", slash: str = "/", scheme: str = "http://", is_35: bool = False,
                 result: tuple | None = None, dialect: str = "handle_code"):
        self.door, self.app, self.prefix = Door(f"http://{door.host}:{door.port}", door.token, door.prefix, dict(door.headers)), app, path
        if is_35:
            self.door.headers[APP_HEADER] = app
        self.result, self.dialect = result, dialect
        self.calls: list[Call] = []
        self.replies: dict[str, object] = {"idleBeat": ok(), "kill": KILLED, "log": NO_LOG}
        self.open_links: set[socket.socket] = set()
        self.links = 0
        self.lock = threading.Lock()
        self.beating: threading.Event | None = None
        self.listener: socket.socket | None = None
        self.port = 0
        self.wrap = lambda link: link
        self.listen()
        self.address = f"{scheme}127.0.0.1:{self.port}{path}{slash}"

    # ---- where it listens

    def listen(self):
        """Also again, on the same port, after `vanish`."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        eventually(lambda: listener.bind(("127.0.0.1", self.port)) is None, f"port {self.port} is free", within=10)
        listener.listen(256)
        self.listener, self.port = listener, listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def vanish(self):
        """As a process that was killed: connections break, new ones are refused, beats cease, nobody takes leave."""
        self.stop_beating()
        if self.listener:
            # Without this the thread in accept() would keep the port open.
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None
        with self.lock:
            links = list(self.open_links)
        for link in links:
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.vanish()
        try:
            self.leave()
        except (OSError, AssertionError, ValueError):
            pass  # the admin may be gone already

    # ---- what it tells the admin

    def register(self, every: float | None = None):
        """Once; or also every so many seconds from then on."""
        answer = self.door.register(self.app, self.address)
        assert answer.code == 200, answer
        if every is not None:
            self.beat(every)
        return self

    def beat(self, every: float):
        stop = self.beating = threading.Event()

        def go_on():
            while not stop.wait(every):
                try:
                    self.door.register(self.app, self.address)
                except (OSError, AssertionError, ValueError):
                    pass  # the admin is away; so do real ones: they try again
        threading.Thread(target=go_on, daemon=True).start()

    def stop_beating(self):
        if self.beating:
            self.beating.set()

    def leave(self):
        self.stop_beating()
        return self.door.remove(self.app, self.address)

    def finish(self, run: dict, code=200, text="", dialect: str | None = None):
        """Tells the result of one run; the admin always says that it has heard."""
        answer = self.door.callback(DIALECTS[dialect or self.dialect](run, code, text))
        assert answer.code == 200, answer
        return answer

    def finish_by_itself(self, run: dict):
        """As `result` says; told again until the admin has taken it, as real ones do."""
        threading.Thread(target=self._finish, args=(run,), daemon=True).start()

    # ---- what it is told

    def on(self, call: str, *replies):
        """What to answer to a call from now on: one after the other, the last for ever; a function of the call may choose."""
        self.replies[call] = list(replies) if len(replies) > 1 else replies[0]
        return self

    def to(self, *names: str) -> list[Call]:
        """The calls to one of these names, in the order they came."""
        with self.lock:
            return [call for call in self.calls if call.path.rsplit("/", 1)[-1] in names]

    def runs(self) -> list[dict]:
        return [call.json() for call in self.to("run", "trigger")]

    def run(self, number: int = 1, within: float = 15) -> dict:
        """The so-manieth run it was ordered, once it has been."""
        return eventually(lambda: (seen := self.runs()) and len(seen) >= number and seen[number - 1],
                          f"run {number} reaches {self.address} of {self.app}", within)

    def run_of(self, instance: dict, within: float = 15) -> dict:
        """The run of this instance's current attempt."""
        return eventually(lambda: next((run for run in self.runs() if run["logId"] == instance["attempt"]), None),
                          f"attempt {instance['attempt']} reaches {self.address}", within)

    def job(self, name: str, keys: str = "", route: str | None = None, handler: str = "demoJobHandler", params: str = "") -> str:
        """The text of a job for this executor's app."""
        pool = f"{{ name: {self.app}, route: {route} }}" if route else self.app
        overlap = "" if "overlap:" in keys else "overlap: allow\n"
        return f"job: {name}\npool: {pool}\n{overlap}executor: {{ handler: {handler}, params: {json.dumps(params)} }}\n{keys}\n"

    # ---- the server

    def _accept(self, listener: socket.socket):
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.open_links.add(link)
                self.links += 1
            threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, plain: socket.socket):
        try:
            link = self.wrap(plain)
            with link, link.makefile("rb") as stream:
                while (call := _read(stream)) is not None:
                    if not self._answer(link, call):
                        return
        except OSError:
            pass
        finally:
            with self.lock:
                self.open_links.discard(plain)

    def _answer(self, link: socket.socket, call: Call) -> bool:
        name = call.path.rsplit("/", 1)[-1]
        with self.lock:
            self.calls.append(call)
            reply = self.replies.get(name, ok())
            if isinstance(reply, list):
                reply = reply.pop(0) if len(reply) > 1 else reply[0]
        if callable(reply):
            reply = reply(call)
        if reply is HANG_UP:
            return False
        if reply.hold:
            reply.hold.wait(60)
        link.sendall(reply.bytes())
        if name in ("run", "trigger") and self.result and reply.is_yes():
            self.finish_by_itself(call.json())
        return not (reply.close or reply.drop)

    def _finish(self, run: dict):
        result = self.result(run) if callable(self.result) else self.result
        if result is None:
            return
        code, text = result
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                self.finish(run, code, text)
                return
            except (OSError, AssertionError, ValueError):
                time.sleep(0.2)


def _read(stream) -> Call | None:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            return None
        head += line
    at = time.time()
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Call(at, first, headers, stream.read(length), head)
