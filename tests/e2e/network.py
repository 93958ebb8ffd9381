"""Machines of a test's own: network namespaces on one bridge, whose links can be cut. Needs root, and a kernel that has them.
The test itself sits at the bridge and reaches all of them."""

import itertools
import os
import subprocess

import pytest

# The networks of tests that run beside each other lie apart, though the numbers of two runs are neighbours.
NUMBERS = itertools.count(os.getpid() * 16)


def ip(*words):
    done = subprocess.run(["ip", *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"ip {' '.join(map(str, words))}: {done.stderr.strip()}")


class Network:
    def __init__(self):
        self.tag = f"dl{next(NUMBERS) % 10000}"
        self.net = f"10.{200 + int(self.tag[2:]) // 250 % 50}.{int(self.tag[2:]) % 250}"
        self.here, self.places = f"{self.net}.254", {}

    def start(self):
        try:
            ip("link", "add", self.tag, "type", "bridge")
            ip("addr", "add", f"{self.here}/24", "dev", self.tag)
            ip("link", "set", self.tag, "up")
            self.join("probe")
        except OSError as reason:
            self.stop()
            pytest.skip(f"SKIPPED LOUDLY: no network namespaces here ({reason})")
        return self

    def join(self, name: str) -> "Place":
        if name not in self.places:
            self.places[name] = Place(self, name, len(self.places) + 1)
            self.places[name].start()
        return self.places[name]

    def cut(self, one: str, other: str):
        """What they send each other goes nowhere, without a word to either."""
        self.places[one].misdirect(self.places[other])
        self.places[other].misdirect(self.places[one])

    def heal(self, one: str, other: str):
        self.places[one].redirect(self.places[other])
        self.places[other].redirect(self.places[one])

    def stop(self):
        for place in self.places.values():
            subprocess.run(["ip", "netns", "del", place.space], capture_output=True)
        subprocess.run(["ip", "link", "del", self.tag], capture_output=True)


class Place:
    def __init__(self, network: Network, name: str, number: int):
        self.network, self.space, self.number = network, f"{network.tag}-{name}", number
        self.host, self.plug = f"{network.net}.{number}", f"{network.tag}p{number}"
        # Before a command that shall run there.
        self.inside = ["ip", "netns", "exec", self.space]

    @property
    def hardware(self) -> str:
        return f"02:00:00:00:00:{self.number:02x}"

    def start(self):
        ip("netns", "add", self.space)
        ip("link", "add", self.plug, "type", "veth", "peer", "name", "eth0", "netns", self.space)
        ip("link", "set", self.plug, "master", self.network.tag, "up")
        ip("-n", self.space, "link", "set", "eth0", "address", self.hardware)
        ip("-n", self.space, "addr", "add", f"{self.host}/24", "dev", "eth0")
        ip("-n", self.space, "link", "set", "eth0", "up")
        ip("-n", self.space, "link", "set", "lo", "up")

    def misdirect(self, other: "Place"):
        ip("-n", self.space, "neigh", "replace", other.host, "lladdr", "02:00:00:00:ff:ff", "dev", "eth0", "nud", "permanent")

    def redirect(self, other: "Place"):
        ip("-n", self.space, "neigh", "replace", other.host, "lladdr", other.hardware, "dev", "eth0", "nud", "permanent")

    def unplug(self):
        """From everything."""
        ip("link", "set", self.plug, "down")

    def plug_in(self):
        ip("link", "set", self.plug, "up")
