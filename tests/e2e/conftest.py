import pytest

from harness import Duly


@pytest.fixture
def duly(tmp_path):
    """A set-up, running installation with its agent online."""
    one = Duly(tmp_path).setup().up()
    try:
        from harness import eventually
        eventually(one.agent_online, "the local agent is online", within=30)
        yield one
    finally:
        one.stop()


@pytest.fixture
def fresh(tmp_path):
    """An installation that has not been set up or started."""
    one = Duly(tmp_path)
    try:
        yield one
    finally:
        one.stop()
