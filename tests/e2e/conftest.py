import pytest

from harness import Duly, eventually


@pytest.fixture
def duly(tmp_path):
    """A set-up, running installation with its agent online."""
    one = Duly(tmp_path).setup().up()
    try:
        eventually(one.agent_online, "the local agent is online", within=30)
        yield one
    finally:
        one.stop()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One running installation for all tests of a file that leave each other alone."""
    one = Duly(tmp_path_factory.mktemp("shared")).setup().up()
    try:
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
