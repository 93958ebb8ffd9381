"""Ways between processes that are slow, uneven and sometimes cut: a proxy of a test's own in front of a port or a socket. Needs
neither root nor a kernel that can delay packets. What is under way when a way is cut never arrives; nobody is told."""

import asyncio
import pathlib
import random
import threading

from harness import free_port

CHUNK = 64 * 1024


class Links:
    """All ways of a test, served by one thread."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.all: list[Link] = []

    def to(self, target: "int | pathlib.Path", delay: float = 0.0, jitter: float = 0.0) -> "Link":
        link = Link(self, target, delay, jitter)
        asyncio.run_coroutine_threadsafe(link.open(), self.loop).result(10)
        self.all.append(link)
        return link

    def stop(self):
        async def close():
            for link in self.all:
                link.server.close()
                link.break_all()
            rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
        asyncio.run_coroutine_threadsafe(close(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


class Link:
    """A port in front of another port or socket. What goes over it takes `delay` seconds each way, and up to `jitter` more."""

    def __init__(self, links: Links, target: "int | pathlib.Path", delay: float, jitter: float):
        self.links, self.target, self.delay, self.jitter = links, target, delay, jitter
        self.port, self.whole, self.carried = free_port(), True, 0
        self.chance, self.ends = random.Random(self.port), set()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def cut(self):
        """What is said goes nowhere from now on, and nobody hears that it does."""
        self.whole = False

    def heal(self):
        """New connections go through; those that met the cut are broken now, as if their ends had given up."""
        self.links.loop.call_soon_threadsafe(self.break_all)
        self.whole = True

    def snap(self):
        """Every connection breaks, with what is under way; new ones are made at once."""
        self.links.loop.call_soon_threadsafe(self.break_all)

    def break_all(self):
        for end in list(self.ends):
            end.transport.abort()

    async def open(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.ends.add(writer)
        other = None
        try:
            if isinstance(self.target, int):
                back, other = await asyncio.open_connection("127.0.0.1", self.target)
            else:
                back, other = await asyncio.open_unix_connection(str(self.target))
            self.ends.add(other)
            await asyncio.gather(self.carry(reader, other), self.carry(back, writer))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for end in (writer, other):
                if end is not None:
                    self.ends.discard(end)
                    end.transport.abort()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        """In order, each piece late by itself: a piece that is slow holds up what follows it, and nothing else."""
        pieces: asyncio.Queue = asyncio.Queue()
        loop = asyncio.get_running_loop()

        async def read():
            latest = 0.0
            while True:
                piece = await reader.read(CHUNK)
                latest = max(latest, loop.time() + self.delay + self.chance.uniform(0, self.jitter))
                await pieces.put((latest, piece))
                if not piece:
                    return

        async def write():
            while True:
                due, piece = await pieces.get()
                await asyncio.sleep(max(0.0, due - loop.time()))
                if not self.whole:
                    continue
                if not piece:
                    raise ConnectionResetError
                writer.write(piece)
                self.carried += len(piece)
                await writer.drain()

        await asyncio.gather(read(), write())
