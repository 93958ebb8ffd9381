"""Names of a test's own: a name server on a loopback address, and the words before a command that make it ask there. What a name
means can change between two questions, and every question is counted. Needs root, and a kernel with mount namespaces."""

import pathlib
import socket
import struct
import subprocess
import threading

import pytest

A, IN = 1, 1


class NameServer:
    HERE = "127.0.53.1"

    def __init__(self, root: pathlib.Path):
        self.root = root
        # For each name the addresses of its answers, one answer after the other; the last one stays.
        self.means: dict[str, list[list[str]]] = {}
        self.asked: list[str] = []

    def start(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.bind((self.HERE, 53))
            (self.root / "resolv.conf").write_text(f"nameserver {self.HERE}\n")
            subprocess.run([*self.wrap, "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as reason:
            self.socket.close()
            pytest.skip(f"SKIPPED LOUDLY: no name server of our own here ({reason})")
        threading.Thread(target=self._answer, daemon=True).start()
        return self

    @property
    def wrap(self) -> list[str]:
        """Before a command: it sees another /etc/resolv.conf than everybody else."""
        return ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', str(self.root / "resolv.conf")]

    def stop(self):
        self.socket.close()

    def _answer(self):
        while True:
            try:
                question, whom = self.socket.recvfrom(512)
                self.socket.sendto(self._reply(question), whom)
            except OSError:
                return

    def _reply(self, question: bytes) -> bytes:
        name, end = [], 12
        while length := question[end]:
            name.append(question[end + 1:end + 1 + length].decode())
            end += 1 + length
        name, kind = ".".join(name), struct.unpack("!H", question[end + 1:end + 3])[0]
        addresses = self._addresses(name) if kind == A else []
        known = name in self.means
        # An answer with recursion, or that there is no such name; then the question again, then what it means for no time at all.
        head = question[:2] + struct.pack("!HHHHH", 0x8180 if known else 0x8183, 1, len(addresses), 0, 0)
        records = [b"\xc0\x0c" + struct.pack("!HHIH", A, IN, 0, 4) + socket.inet_aton(ip) for ip in addresses]
        return head + question[12:end + 5] + b"".join(records)

    def _addresses(self, name: str) -> list[str]:
        self.asked.append(name)
        answers = self.means.get(name, [[]])
        return answers.pop(0) if len(answers) > 1 else answers[0]
