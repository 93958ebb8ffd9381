"""What the console shows to whom: a viewer, another tenant, somebody whose server went away, somebody with a very long log."""

import datetime
import re
import time
import types

from browser import prefer, sign_in
from harness import PASSWORD, eventually

OWN = "a password of my own"


def person(duly, name: str, role: str, tenant: str | None = None):
    """Somebody with a role, who has set a password of their own already."""
    headers = {"Duly-Tenant": tenant} if tenant else {}
    assert duly.api("POST", "/people", json={"name": name, "password": PASSWORD}).status_code == 201
    assert duly.api("POST", "/grants", json={"person": name, "role": role}, headers=headers).status_code == 201
    token = duly.api("POST", "/sessions", token=None, json={"name": name, "password": PASSWORD}).json()["token"]
    assert duly.api("PUT", "/whoami/password", token=token, json={"old": PASSWORD, "new": OWN}).status_code == 204


def test_a_viewer_sees_and_changes_nothing(shared, open_page):
    shared.apply("job: seen\nmanual: true\nsh: echo seen\n")
    instance = shared.trigger("seen")
    shared.ended(instance)
    person(shared, "vera", "viewer")
    page = sign_in(open_page(), shared, "vera", OWN)
    page.get_by_text("is online and takes work").wait_for()
    assert page.get_by_role("button", name=re.compile("Create and run")).count() == 0
    page.goto(f"{shared.url}/ui/jobs/seen")
    run = page.get_by_role("button", name="Run now: seen")
    run.wait_for()
    assert run.is_disabled() and page.get_by_role("button", name="Disable: seen").is_disabled()
    run.locator("..").focus()
    page.get_by_role("tooltip").get_by_text("job.run").wait_for()
    assert page.get_by_role("button", name="Delete").is_disabled()
    for way in ("Edit", "Script", "Copy"):
        assert page.get_by_role("link", name=way, exact=True).count() == 0
    page.goto(f"{shared.url}/ui/instances/{instance}")
    page.locator(".log-line", has_text="seen").wait_for()
    assert page.get_by_role("button", name="Run again").is_disabled()
    page.goto(f"{shared.url}/ui/jobs")
    page.get_by_role("link", name="seen", exact=True).wait_for()
    assert page.get_by_role("link", name="New job").count() == 0 and page.get_by_role("link", name="Import").count() == 0
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search everything").fill("audit")
    page.get_by_text("Nothing found").wait_for()


def test_whoever_knows_the_address_of_an_editor_saves_nothing_without_the_right(shared, open_page):
    shared.apply("job: guarded\nmanual: true\nsh: echo guarded\n")
    person(shared, "victor", "viewer")
    page = sign_in(open_page(expected="status of 403"), shared, "victor", OWN, path="/ui/jobs/guarded/edit")
    page.get_by_label("Timeout").fill("5m")
    page.get_by_role("alert").get_by_text("job.edit").first.wait_for()
    assert page.get_by_role("button", name="Save", exact=True).is_disabled()
    page.goto(f"{shared.url}/ui/jobs/guarded/script")
    page.locator(".cm-content", has_text="guarded").wait_for()
    assert page.get_by_role("button", name="Try it").is_disabled()


def test_another_tenant_is_a_world_of_its_own(shared, open_page):
    assert shared.api("POST", "/tenants", json={"name": "acme"}).status_code == 201
    shared.apply("job: of-default\nmanual: true\nnoop: true\n")
    body = {"jobs": [{"job": "of-acme", "manual": True, "noop": True}]}
    assert shared.api("POST", "/jobs/apply", json=body, headers={"Duly-Tenant": "acme"}).status_code == 200
    person(shared, "amy", "developer", "acme")
    page = sign_in(open_page(expected="status of 40[34]"), shared, "amy", OWN, path="/ui/jobs?tenant=acme")
    page.get_by_role("link", name="of-acme").wait_for()
    assert page.get_by_text("of-default").count() == 0 and page.get_by_label("Tenant").get_by_role("option", name="default").count() == 0
    page.get_by_role("link", name="Instances").click()
    page.get_by_role("heading", name="Instances").wait_for()
    assert "tenant=acme" in page.url, "the tenant stays in the address"
    page.goto(f"{shared.url}/ui/jobs/of-default?tenant=acme")
    page.get_by_role("alert").wait_for()
    both = sign_in(open_page(), shared, path="/ui/jobs")
    both.get_by_role("link", name="of-default").wait_for()
    both.get_by_label("Tenant").select_option("acme")
    both.get_by_role("link", name="of-acme").wait_for()
    assert both.get_by_text("of-default").count() == 0
    both.go_back()
    both.get_by_role("link", name="of-default").wait_for()
    assert both.get_by_text("of-acme").count() == 0


def test_a_server_that_went_away_is_waited_for(duly, open_page):
    duly.apply("job: patient\nmanual: true\nnoop: true\n")
    page = sign_in(open_page(expected="Failed to load resource|net::ERR"), duly, path="/ui/instances")
    page.locator(".live-live").wait_for()
    duly.kill_server()
    page.get_by_text("Connection lost").wait_for()
    duly.up()
    page.locator(".live-live").wait_for(timeout=40_000)
    instance = duly.trigger("patient")
    page.get_by_role("link", name=str(instance), exact=True).wait_for()


def test_what_failed_while_one_was_cut_off_is_told_afterwards(shared, links, open_page):
    shared.apply("job: unseen\nmanual: true\nsh: 'exit 3'\n")
    way = links.to(shared.port)
    page = open_page(expected="Failed to load resource|net::ERR")
    sign_in(page, types.SimpleNamespace(url=f"http://{way.address}"), path="/ui/about")
    page.locator(".live-live").wait_for()
    way.cut()
    way.snap()
    page.get_by_text("Connection lost").wait_for()
    instance = shared.trigger("unseen")
    shared.ended(instance)
    assert page.get_by_text("unseen failed").count() == 0
    way.heal()
    page.locator(".live-live").wait_for(timeout=40_000)
    page.get_by_text("unseen failed").wait_for()
    page.get_by_role("button", name="Look").click()
    page.wait_for_url(f"**/ui/instances/{instance}")


def test_a_log_grows_while_its_task_runs(shared, open_page, tmp_path):
    script = f"echo before; until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo after"
    instance = shared.apply_and_trigger("grows", f"manual: true\nsh: '{script}'")
    page = sign_in(open_page(), shared, path=f"/ui/instances/{instance}")
    page.locator(".log-line", has_text="before").wait_for()
    page.locator("h1 + .tag", has_text="Running").wait_for()
    assert page.locator(".log-line").count() == 1
    (tmp_path / "go").touch()
    page.locator(".log-line", has_text="after").wait_for()
    page.get_by_text("End of output").wait_for()
    page.locator("h1 + .tag", has_text="Succeeded").wait_for()


def test_a_hundred_thousand_lines_are_as_smooth_as_ten(shared, open_page):
    lines = 100_000
    script = f"seq -f 'line %.0f of many' 1 {lines}; echo 'ValueError: the end' >&2"
    instance = shared.apply_and_trigger("wordy", f"manual: true\nlog: {{ max_lines: 200000, max_bytes: 20000000 }}\nsh: \"{script}\"")
    shared.ended(instance)
    page = sign_in(open_page(), shared, path=f"/ui/instances/{instance}")
    page.get_by_text(re.compile(r"100,?001 lines")).wait_for(timeout=60_000)
    assert page.locator(".log-line").count() < 200, "only what is in view is in the page"
    begun = time.monotonic()
    page.get_by_label("Search the log").fill("line 77777 of")
    page.locator(".log-hit", has_text="line 77777 of many").wait_for()
    assert time.monotonic() - begun < 5
    page.get_by_role("button", name="Go to the first error").click()
    page.locator(".log-line", has_text="ValueError").wait_for()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download").click()
    assert saved.value.suggested_filename.startswith(f"duly-{instance}")
    text = saved.value.path().read_text()
    assert text.count("\n") == lines + 1


def test_a_chosen_zone_is_the_one_shown_and_the_other_is_told(shared, open_page):
    shared.apply("job: zoned\ncron: { expr: '0 0 3 * * ?', zone: UTC }\nnoop: true\n")
    page = open_page()
    prefer(page, language="en", theme="light", zone="Asia/Shanghai")
    sign_in(page, shared, path="/ui/jobs?name=zoned")
    shown = page.locator("time").first
    shown.wait_for()
    assert shown.inner_text().endswith("11:00:00")
    shown.hover()
    assert "03:00:00 UTC" in shown.get_attribute("title") and "Asia/Shanghai" in shown.get_attribute("title")
    eventually(lambda: page.title().startswith("Jobs"), "the tab has the page's name")
    assert shown.get_attribute("tabindex") is None, "a list is not walked through time by time"
    page.get_by_role("link", name="zoned", exact=True).click()
    page.get_by_role("heading", name="Next times").wait_for()
    fire = page.locator(".next time").first
    fire.focus()
    assert "03:00:00 UTC" in fire.get_attribute("data-told")
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    said = fire.evaluate("(one) => getComputedStyle(one, '::after').content")
    assert "UTC" in said, "what is told is also shown"


def test_what_can_be_undone_is_done_at_once_and_undone(shared, open_page):
    shared.apply("job: hasty\nmanual: true\nnoop: true\n")
    assert shared.api("PUT", "/variables/haste", json={"value": "slowly"}).ok
    page = sign_in(open_page(), shared, path="/ui/jobs?name=hasty")
    page.get_by_role("button", name="Disable: hasty").click()
    page.get_by_text("hasty is disabled").wait_for()
    page.get_by_role("button", name="Enable: hasty").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("It is as it was before").wait_for()
    page.get_by_role("button", name="Disable: hasty").wait_for()
    assert shared.api("GET", "/jobs/hasty").json()["mode"] == "enabled"
    page.goto(f"{shared.url}/ui/variables")
    page.get_by_role("button", name="Delete: haste").click()
    page.get_by_text("haste was deleted").wait_for()
    eventually(lambda: page.locator("td", has_text="slowly").count() == 0, "it is gone")
    page.get_by_role("button", name="Undo").click()
    page.locator("td", has_text="slowly").wait_for()


def test_a_job_that_is_not_there_is_no_alarm(shared, open_page):
    page = sign_in(open_page(expected=r"status of 404.*job=nobody"), shared, path="/ui/instances?job=nobody")
    page.get_by_text("There is no job nobody").wait_for()
    assert page.get_by_role("alert").count() == 0
    page.get_by_role("button", name="Show instances of all jobs").click()
    page.locator("table, .empty").first.wait_for()
    assert "job=" not in page.url and page.get_by_text("There is no job").count() == 0


def test_a_new_job_is_not_greeted_with_a_fault(shared, open_page):
    page = sign_in(open_page(), shared, path="/ui/new-job")
    page.get_by_text("Give the job a name").wait_for()
    page.get_by_label("Name", exact=True).fill("greeted")
    page.locator(".plan .tag", has_text="New").wait_for()
    assert page.get_by_role("alert").count() == 0


def test_what_starts_a_job_and_why_it_waits_is_told_in_chinese(shared, open_page):
    shared.apply("job: waits\nevery: 6h\nmode: paused\npool: nobody-here\nnoop: true\n---\njob: follows\nafter: waits\nnoop: true\n")
    instance = shared.trigger("waits")
    page = open_page(locale="zh-CN")
    prefer(page, language="zh")
    sign_in(page, shared, path="/ui/jobs")
    page.get_by_role("cell", name="每 6h").wait_for()
    page.get_by_role("cell", name="waits 成功后").wait_for()
    page.goto(f"{shared.url}/ui/instances/{instance}")
    page.get_by_text("资源池中还没有任何代理").wait_for()
    page.get_by_text("nobody-here").first.wait_for()


def test_a_figure_of_home_leads_to_just_what_it_counts(shared, open_page):
    shared.apply("job: figures\nmanual: true\nexit: { warning: [2] }\nsh: 'exit 2'\n")
    instance = shared.trigger("figures")
    shared.wait_state(instance, "warned")
    before = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=2)
    old = shared.api("POST", "/jobs/figures/trigger", json={"planned_at": before.isoformat()}).json()["id"]
    shared.ended(old)
    page = sign_in(open_page(), shared)
    figure = page.locator(".figures").get_by_role("link", name=re.compile("Succeeded"))
    figure.wait_for()
    count = int(re.match(r"\d+", figure.inner_text()).group())
    figure.click()
    # Home lists the latest ones, too.
    page.get_by_role("heading", name="Instances", exact=True).wait_for()
    page.get_by_role("link", name=str(instance), exact=True).wait_for()
    eventually(lambda: page.locator("tbody tr").count() == count, f"{count} rows")
    assert page.get_by_role("link", name=str(old), exact=True).count() == 0


def test_about_tells_of_the_store(shared, open_page):
    page = sign_in(open_page(), shared, path="/ui/about")
    page.get_by_text("and answers").wait_for()
