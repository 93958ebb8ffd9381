"""Two PostgreSQLs of which one follows the other, commit by commit: what was promised by the first is in the second, and
when the first dies the second is made the first."""

import pathlib
import shutil

from harness import eventually
from postgres import Postgres


class Pair:
    """Stands where one database would; `run` and `kill` are about the one that takes writes."""

    def __init__(self, root: pathlib.Path, place=None):
        assert place is None, "both are reached by their sockets"
        self.first, self.second = Postgres(root), None

    @property
    def address(self) -> str:
        """Of both, the one that follows first: whoever connects must look for the one that takes writes."""
        hosts = ",".join(str(one.root).replace("/", "%2F") for one in (self.second, self.first))
        return f"postgres://duly@{hosts}/postgres"

    def start(self):
        self.first.start()
        self.second = Postgres(self.first.root.with_name("pg2"))
        self.follow()
        return self

    def follow(self):
        """The second becomes a copy of the first, whatever it was, and the first promises nothing that the second has not."""
        data = self.second.root / "data"
        shutil.rmtree(data)
        self.second.make("pg_basebackup", "-h", self.first.root, "-U", "duly", "-D", data, "--write-recovery-conf", "--checkpoint=fast")
        self.second.start()
        # Told after the copy was made, so that the copy waits for nobody when it is the first itself.
        self.first.run("alter system set synchronous_standby_names = '*'")
        self.first.run("select pg_reload_conf()")
        in_step = "select count(*) from pg_stat_replication where sync_state = 'sync' and state = 'streaming'"
        eventually(lambda: self.first.run(in_step) == "1", "the second follows")

    def fail_over(self):
        """The first is gone for good, and the second is told to be the first."""
        self.first.kill()
        self.first, self.second = self.second, self.first
        assert self.first.run("select pg_promote()") == "t"

    def run(self, text: str) -> str:
        return self.first.run(text)

    def stop(self):
        for one in (self.first, self.second):
            if one:
                one.stop()
