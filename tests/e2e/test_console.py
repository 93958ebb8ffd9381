"""The console in a real browser against the real server: the first minute, the way in, both languages."""

import re
import time

from browser import findings, settled, sign_in
from harness import PASSWORD, eventually


def test_from_the_link_to_the_first_log(fresh, open_page):
    fresh.up(wait=False)
    eventually(lambda: "/ui/setup#" in fresh.log_tail(100), "it prints a link", within=60)
    link = re.search(r"http\S+/ui/setup#\S+", fresh.log_tail(100)).group(0)
    page = open_page()
    page.goto(link)
    page.get_by_label("Name", exact=True).fill("grace")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password once more").fill(PASSWORD + "x")
    page.get_by_text("The two passwords differ").wait_for()
    page.get_by_label("Password once more").fill(PASSWORD)
    page.get_by_label("Time zone").select_option("Asia/Shanghai")
    assert not findings(page)
    page.get_by_role("button", name="Set up and begin").click()
    assert "DULY_TOKEN=duly_" in page.locator("pre").inner_text()
    page.get_by_role("link", name="Go on to the console").click()
    page.get_by_text("is online and takes work").wait_for(timeout=30_000)
    begun = time.monotonic()
    page.get_by_role("button", name="Create and run: A script every minute").click()
    page.locator(".log-line", has_text="hello").wait_for()
    # A second on a quiet machine; others may be building on this one.
    assert time.monotonic() - begun < 10
    page.get_by_text("End of output").wait_for()
    page.locator("h1 + .tag", has_text="Succeeded").wait_for()
    assert page.locator(".ansi-green").first.inner_text() == "hello"
    page.goto(link)
    page.get_by_text("This server is set up already").wait_for()


def test_a_failed_try_and_the_next_one_have_logs_of_their_own(shared, open_page):
    page = sign_in(open_page(), shared)
    page.get_by_role("button", name="Create and run: Fails, then succeeds").click()
    page.locator(".log-line", has_text="it works now").wait_for()
    page.locator("h1 + .tag", has_text="Succeeded").wait_for()
    page.get_by_role("link", name="Attempt 1").click()
    page.locator(".log-line.log-stderr", has_text="not this time").wait_for()
    assert re.search(r"attempt=\d+", page.url)
    page.get_by_role("button", name="Go to the first error").click()
    page.get_by_label("Search the log").fill("ATTEMPT")
    page.get_by_text("1 of 1").wait_for()
    assert page.locator("mark").inner_text() == "attempt"


def test_a_running_instance_is_stopped_and_run_again(shared, open_page):
    instance = shared.apply_and_trigger("long", "manual: true\nsh: 'echo begun; sleep 600'")
    page = sign_in(open_page(), shared, path=f"/ui/instances/{instance}")
    page.locator(".log-line", has_text="begun").wait_for()
    page.get_by_role("button", name="Stop").click()
    ask = page.get_by_role("dialog").get_by_role("button", name="Stop")
    ask.wait_for()
    eventually(lambda: not findings(page), "the question is clear to everybody, once it stands still", within=10)
    ask.click()
    page.locator("h1 + .tag", has_text="Stopped").wait_for()
    page.get_by_role("button", name="Run again").click()
    page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    page.get_by_role("link", name="Attempt 2").wait_for()
    assert shared.api("POST", f"/instances/{instance}/stop").status_code == 200
    page.locator("h1 + .tag", has_text="Stopped").wait_for()


def test_what_happens_elsewhere_is_seen_without_a_reload(shared, open_page):
    shared.apply("job: elsewhere\nmanual: true\nsh: 'exit 3'\n")
    page = sign_in(open_page(), shared, path="/ui/instances?job=elsewhere")
    page.get_by_text("Nothing matches").wait_for()
    page.locator(".live-live").wait_for()
    instance = shared.trigger("elsewhere")
    page.get_by_role("table").get_by_role("link", name=str(instance)).wait_for()
    page.locator("td .tag", has_text="Failed").wait_for()
    page.get_by_text("elsewhere failed").wait_for()
    page.get_by_role("button", name="Look").click()
    page.wait_for_url(f"**/ui/instances/{instance}")


def test_signing_out_and_in_leads_back_to_where_one_was(shared, open_page):
    page = sign_in(open_page(expected=r"status of 401.*/api/v1/sessions"), shared, path="/ui/jobs?name=tick")
    page.get_by_role("heading", name="Jobs").wait_for()
    assert page.url.endswith("/ui/jobs?name=tick")
    page.locator("summary", has_text="ada").click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in").wait_for()
    assert not findings(page)
    page.locator("input[name=name]").fill("ada")
    page.locator("input[name=password]").fill("wrong password")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").get_by_text("What to do").wait_for()
    page.locator("input[name=password]").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Home").wait_for()


def test_a_session_that_ended_elsewhere_leads_to_the_door(shared, open_page):
    page = sign_in(open_page(expected="status of 401"), shared, path="/ui/jobs")
    page.get_by_role("heading", name="Jobs").wait_for()
    assert shared.api("DELETE", "/people/ada/sessions").status_code == 204
    page.get_by_role("link", name="Agents").click()
    page.get_by_role("button", name="Sign in").wait_for()


def test_the_language_is_switched_at_once_and_stays(shared, open_page):
    page = sign_in(open_page(expected="status of 404"), shared)
    page.locator("summary[title=Preferences]").click()
    page.get_by_label("Language").select_option("zh")
    page.get_by_role("heading", name="首页").wait_for()
    assert page.locator("html").get_attribute("lang") == "zh-CN"
    page.goto(shared.url + "/ui/instances")
    page.get_by_role("heading", name="实例").wait_for()
    page.goto(shared.url + "/ui/jobs/gone")
    told = page.get_by_role("alert").first
    told.get_by_text("作业不存在").wait_for()
    told.get_by_text("名称须完全一致").wait_for()
    told.get_by_text("E0301").wait_for()


def test_a_page_of_a_list_has_an_address(shared, open_page):
    shared.apply("".join(f"job: many-{n:03}\nmanual: true\nnoop: true\n---\n" for n in range(60)))
    page = sign_in(open_page(), shared, path="/ui/jobs?name=many-")
    page.get_by_text("50 rows").wait_for()
    page.get_by_role("link", name="Next page").click()
    page.get_by_text("10 rows").wait_for()
    assert "cursor=" in page.url and "name=many-" in page.url
    page.reload()
    page.get_by_role("link", name="many-059", exact=True).wait_for()
    page.go_back()
    page.get_by_role("link", name="many-000", exact=True).wait_for()
    page.get_by_placeholder("Part of a name").fill("many-05")
    page.get_by_text("10 rows").wait_for()
    assert "name=many-05" in page.url and "cursor" not in page.url


def test_files_are_kept_and_pages_are_not(shared, open_page):
    page = open_page()
    kept = {}
    page.on("response", lambda answer: kept.update({answer.url: answer.headers}))
    page.goto(shared.url + "/ui")
    settled(page)
    told = kept[shared.url + "/ui"]
    nonce = re.search(r"style-src 'self' 'nonce-([^']+)'", told["content-security-policy"]).group(1)
    assert "unsafe" not in told["content-security-policy"] and told["cache-control"] == "no-store"
    assert page.locator("meta[name=duly]").get_attribute("content").split()[0] == nonce
    files = [headers for url, headers in kept.items() if "/ui/assets/" in url]
    assert files and all("immutable" in headers["cache-control"] for headers in files)
