"""The page of servers with a real cluster: who owns what, draining, weights, and all addresses in the command for another agent."""

import re

from browser import findings, settled, sign_in
from harness import eventually


def test_servers_are_drained_and_weighed_in_the_browser(make, open_page):
    cluster = make(servers=2)
    first, second = cluster.nodes[:2]
    # While shards move, a server may say for a moment that it is not well.
    page = sign_in(open_page(expected="status of 503.*/health"), first, path="/ui/servers")
    settled(page)
    row = page.get_by_role("row", name=re.compile(rf"^{second.name}\b"))
    row.locator(".tag", has_text="Alive").wait_for()
    page.get_by_text("All 64 shards").click()
    assert page.get_by_role("table", name="Shards").locator("tbody tr").count() == 64
    assert not findings(page)
    row.get_by_role("button", name=f"Drain: {second.name}").click()
    page.get_by_role("dialog").get_by_role("button", name="Drain").click()
    row.locator(".tag", has_text="Draining").wait_for()
    eventually(lambda: set(cluster.owners().values()) == {cluster.id_of(first)}, "the other owns everything")
    row.get_by_role("button", name=f"Undrain: {second.name}").click()
    row.locator(".tag", has_text="Alive").wait_for()
    row.get_by_role("button", name=f"Weight: {second.name}").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("Weight").fill("3")
    sheet.get_by_role("button", name="Weight").click()
    eventually(lambda: row.get_by_role("cell", name="3", exact=True).count() == 1, "it has the new weight")

    page.get_by_role("link", name="Agents").click()
    page.get_by_role("button", name="Add an agent").click()
    page.get_by_role("dialog").get_by_role("button", name="Make the command").click()
    command = page.get_by_role("dialog").locator("pre").inner_text()
    for node in (first, second):
        assert node.agent_endpoint in command
