"""What the console lets one do to a job or an instance that is in trouble: pause, release, say what became of it."""

import pytest

import harness
from browser import findings, sign_in
from harness import embedded, eventually
from test_bad_days import FAULTS, make_it_break, panics_on_purpose


def test_an_instance_nobody_can_ask_about_is_ended_by_what_somebody_says(shared, open_page):
    agent = shared.join_agent("doomed", "--pool", "doomed")
    try:
        eventually(lambda: shared.online("doomed"), "it is online")
        shared.apply("job: abandoned\nmanual: true\npool: doomed\nlost_after: 1h\noverlap: allow\nsh: sleep 600\n")
        lost, well = shared.trigger("abandoned"), shared.trigger("abandoned")
        for instance in (lost, well):
            shared.wait_state(instance, "running")
        shared.run("agents", "revoke", "doomed", "--yes", check=True)
        page = sign_in(open_page(), shared, path=f"/ui/instances/{lost}")
        page.locator(".tag", has_text="Nobody knows whether it runs").wait_for()
        page.get_by_text("its agent was removed").first.wait_for()
        assert not findings(page)
        page.get_by_role("button", name="It is lost").click()
        page.get_by_role("dialog").get_by_role("button", name="It is lost").click()
        page.get_by_role("status").get_by_text("It counts as lost").wait_for()
        assert shared.ended(lost)["reason"] == "lost"
        page.goto(f"{shared.url}/ui/instances/{well}")
        page.get_by_role("button", name="It succeeded").click()
        page.get_by_role("dialog").get_by_role("button", name="It succeeded").click()
        page.get_by_role("status").get_by_text("It counts as succeeded").wait_for()
        assert shared.ended(well)["state"] in ("succeeded", "forced")
        page.get_by_role("link", name="instance_resolve").wait_for()
    finally:
        agent.kill()
        agent.wait()


def test_a_job_is_paused_and_goes_on(shared, open_page):
    shared.apply("job: breather\nevery: 1h\nnoop: true\n")
    mode = lambda: shared.api("GET", "/jobs/breather").json()["mode"]
    page = sign_in(open_page(), shared, path="/ui/jobs/breather")
    page.get_by_role("button", name="Pause: breather").click()
    page.locator("h1 ~ .tag", has_text="Paused").wait_for()
    page.get_by_text("breather is paused").wait_for()
    assert mode() == "paused"
    page.get_by_role("button", name="Resume: breather").click()
    page.get_by_text("breather goes on").wait_for()
    assert mode() == "enabled"
    page.get_by_role("button", name="Undo").last.click()
    page.get_by_role("button", name="Resume: breather").wait_for()
    eventually(lambda: mode() == "paused", "undone")


def test_a_mode_is_shown_before_the_answer_and_taken_back_when_refused(shared, open_page):
    shared.apply("job: eager\nevery: 1h\nnoop: true\n")
    page = sign_in(open_page(expected="status of 409"), shared, path="/ui/jobs/eager")
    page.get_by_role("button", name="Pause: eager").wait_for()
    held = []
    page.route("**/api/v1/jobs/eager/pause", lambda route: held.append(route))
    page.get_by_role("button", name="Pause: eager").click()
    page.locator("h1 ~ .tag", has_text="Paused").wait_for()
    assert held and shared.api("GET", "/jobs/eager").json()["mode"] == "enabled", "the server has not been asked yet"
    refusal = '{"type": "", "title": "no", "status": 409, "detail": "not now", "code": "E0109"}'
    held[0].fulfill(status=409, content_type="application/problem+json", body=refusal)
    page.locator("h1 ~ .tag", has_text="Enabled").wait_for()
    page.get_by_text("not now").wait_for()


def test_a_job_tells_its_variables_and_where_they_come_from(shared, open_page):
    for name, value, folder in (("region", "east", None), ("region", "west", "ships"), ("unnamed", "idle", None)):
        assert shared.api("PUT", f"/variables/{name}", json={"value": value, "folder": folder}).ok
    shared.apply('job: sails\nfolder: ships\nmanual: true\nenv: { R: "${region}" }\nsh: echo $R\n')
    page = sign_in(open_page(), shared, path="/ui/jobs/sails")
    card = page.locator("section", has=page.get_by_role("heading", name="Variables"))
    card.locator("dd", has_text="west").get_by_text("of folder ships").wait_for()
    card.get_by_text("hides 1 other").wait_for()
    assert not card.get_by_text("idle").is_visible()
    card.get_by_text("1 more that it could name").click()
    card.locator("dd", has_text="idle").get_by_text("of the tenant").wait_for()


@embedded
@pytest.mark.skipif(not panics_on_purpose(), reason="SKIPPED LOUDLY: this binary was built without --features faults")
def test_a_held_job_says_why_and_is_released(fresh, monkeypatch, open_page):
    monkeypatch.setattr(harness, "BIN", FAULTS)
    duly = fresh.setup().up()
    duly.apply('job: breaks\ncron: "* * * * * ?"\npriority: -987\nnoop: true\n')
    duly.kill_server()
    make_it_break(duly)
    duly.up()
    eventually(lambda: duly.api("GET", "/jobs/breaks").json().get("held"), "it is held")
    duly.apply('job: breaks\ncron: "* * * * * ?"\nnoop: true\n')
    page = sign_in(open_page(), duly, path="/ui/jobs/breaks")
    page.locator("h1 ~ .tag", has_text="Held").wait_for()
    page.get_by_role("alert").get_by_text("a job made to break the engine").wait_for()
    assert not findings(page)
    page.get_by_role("button", name="Release").click()
    page.get_by_text("breaks goes on").wait_for()
    page.locator("h1 ~ .tag", has_text="Enabled").wait_for()
    assert not duly.api("GET", "/jobs/breaks").json().get("held")
