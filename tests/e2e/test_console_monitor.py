"""Monitor in a real browser: the dashboard, many instances at once, dead letters, pop-ups, and all that is known of an instance."""

import re

from browser import findings, sign_in
from harness import eventually


def attempts(duly, instance: int) -> int:
    return len(duly.api("GET", f"/instances/{instance}/attempts").json()["items"])


def test_many_instances_are_run_again_after_a_look_at_which(shared, open_page):
    shared.apply("job: many\nmanual: true\nsh: 'exit 3'\n---\njob: long\nmanual: true\nsh: sleep 600\n")
    failed = [shared.trigger("many") for _ in range(3)]
    for instance in failed:
        shared.ended(instance)
    page = sign_in(open_page(), shared, path="/ui/instances?job=many")
    page.get_by_label("Pick all 3 of this page").check()
    page.get_by_role("button", name="Run 3 again").click()
    sheet = page.get_by_role("dialog")
    assert sheet.locator(".bulk-list li").count() == 3
    assert not findings(page)
    sheet.get_by_role("button", name="Run 3 again").click()
    page.get_by_text("3 run again").wait_for()
    for instance in failed:
        eventually(lambda: attempts(shared, instance) == 2, "each has a second attempt")


def test_running_ones_are_stopped_and_ended_ones_left(shared, open_page):
    shared.apply("job: mixed\nmanual: true\nsh: sleep $DULY_PARAM_FOR\nparams: { for: 600 }\n")
    ended = shared.trigger("mixed", "-p", "for=0")
    shared.ended(ended)
    running = shared.trigger("mixed")
    shared.wait_state(running, "running")
    page = sign_in(open_page(), shared, path="/ui/instances?job=mixed")
    page.get_by_label("Pick all 2 of this page").check()
    page.get_by_role("button", name="Stop 1").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_text("1 of the picked are left as they are").wait_for()
    sheet.get_by_role("button", name="Stop 1").click()
    shared.wait_state(running, "stopped")
    page.locator("td .tag", has_text="Stopped").wait_for()
    page.goto(f"{shared.url}/ui/instances/{running}")
    page.get_by_role("heading", name="What people did").wait_for()
    page.get_by_role("link", name="instance_stop").wait_for()
    page.get_by_role("heading", name="Its way").wait_for()


def test_dead_letters_are_replayed(shared, open_page):
    shared.apply("job: letter\nmanual: true\ndead_letter: true\nsh: 'exit 4'\n")
    instance = shared.trigger("letter")
    shared.wait_state(instance, "dead")
    page = sign_in(open_page(), shared, path="/ui/dead-letters")
    page.get_by_label(f"Pick instance {instance}").check()
    page.get_by_role("button", name="Replay 1").click()
    page.get_by_role("dialog").get_by_role("button", name="Replay 1").click()
    page.get_by_text("1 replayed").wait_for()
    eventually(lambda: attempts(shared, instance) == 2, "it was tried again")


def test_what_fails_or_is_late_pops_up_wherever_one_is(shared, open_page):
    shared.apply("job: slow\nmanual: true\nnot_finished_by: 1s\nsh: sleep 5\n---\njob: broken\nmanual: true\nsh: 'exit 1'\n")
    page = sign_in(open_page(), shared, path="/ui/about")
    page.locator(".live-live").wait_for()
    shared.trigger("broken")
    page.get_by_text("broken failed").wait_for()
    shared.trigger("slow")
    page.get_by_text("slow has not finished in time").wait_for()


def test_what_has_not_started_in_time_pops_up_and_leads_to_why(shared, open_page):
    shared.apply("job: stranded\nmanual: true\npool: nobody-is-here\nnot_started_by: 1s\nnoop: true\n")
    page = sign_in(open_page(), shared, path="/ui/about")
    page.locator(".live-live").wait_for()
    instance = shared.trigger("stranded")
    popup = page.locator(".note", has_text="stranded has not started in time")
    popup.get_by_role("button", name="Look").click()
    page.wait_for_url(f"**/ui/instances/{instance}")
    page.locator(".why", has_text="nobody-is-here").wait_for()


def test_the_dashboard_leads_to_what_it_counts(shared, open_page):
    shared.apply("job: counted\nmanual: true\nsh: 'exit 5'\n---\njob: soon\nevery: 1h\nnoop: true\n---\njob: goes-on\nmanual: true\nsh: sleep 600\n")
    shared.ended(shared.trigger("counted"))
    going = shared.trigger("goes-on")
    shared.wait_state(going, "running")
    page = sign_in(open_page(), shared, path="/ui/dashboard")
    page.get_by_role("link", name=re.compile(r"[1-9]\d* Running")).wait_for()
    page.locator(".coming").get_by_role("link", name="soon").wait_for()
    page.locator(".bars-chart a[aria-label*=failed]").last.wait_for()
    page.get_by_role("link", name="7 days").click()
    page.wait_for_url("**/ui/dashboard?span=week")
    page.locator(".ranks").get_by_role("link", name="counted").click()
    page.get_by_role("table").locator("td .tag", has_text="Failed").first.wait_for()
    assert "job=counted" in page.url
    assert shared.api("POST", f"/instances/{going}/stop").status_code == 200


def test_more_dead_letters_than_the_server_takes_at_once_are_all_replayed(shared, open_page):
    shared.apply("job: pile\nmanual: true\ndead_letter: true\noverlap: allow\nsh: 'exit 4'\n---\njob: lone\nmanual: true\ndead_letter: true\nsh: 'exit 4'\n")
    pile = 110
    lone = shared.trigger("lone")
    for _ in range(pile):
        assert shared.api("POST", "/jobs/pile/trigger", json={}).status_code == 201
    dead = lambda: len(shared.instances("pile", state="dead"))
    eventually(lambda: dead() == pile, "all are dead letters", within=90)
    shared.wait_state(lone, "dead")
    page = sign_in(open_page(), shared, path="/ui/dead-letters?job=lone")
    page.get_by_label(f"Pick instance {lone}").check()
    page.get_by_label("Job", exact=True).fill("pile")
    page.get_by_text("50 rows").wait_for()
    page.get_by_label("Pick all 50 of this page").check()
    page.get_by_text("51 picked").wait_for()
    page.get_by_role("link", name="Next page").click()
    page.get_by_role("link", name="First page").wait_for()
    page.get_by_text("51 picked").wait_for()
    page.get_by_role("button", name="Pick all that match").click()
    page.get_by_text(f"{pile} picked").wait_for()
    page.get_by_role("button", name=f"Replay {pile}").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_text("attempt 2 begins, with all its retries").first.wait_for()
    assert sheet.locator(".bulk-list li").count() == pile and sheet.locator(".bulk-list time").count() == pile
    assert not findings(page)
    sheet.get_by_role("button", name=f"Replay {pile}").click()
    page.get_by_text(f"{pile} replayed").wait_for()
    again = lambda: sum(one["attempt_no"] == 2 for one in shared.instances("pile"))
    eventually(lambda: again() == pile, "every one was tried again", within=60)


def test_every_attempt_is_told_with_its_times_and_what_it_used_and_gave(shared, open_page):
    script = 'echo "::duly rows=$DULY_ATTEMPT"; exit 7'
    shared.apply(f"job: tries\nmanual: true\nretry: {{ times: 1, delay: 0s }}\nsh: '{script}'\n")
    instance = shared.trigger("tries")
    shared.ended(instance)
    page = sign_in(open_page(), shared, path=f"/ui/instances/{instance}")
    way = page.locator(".history").first
    for words in ("Attempt 1 sent to", "Attempt 1 started", "Attempt 1: Failed", "Waited before the next one", "Attempt 2: Failed"):
        way.get_by_text(words).wait_for()
    way.locator("li", has_text="Ended").last.locator(".tag", has_text="Dead letter").or_(way.locator(".tag", has_text="Failed")).wait_for()
    attempts = page.locator(".attempts > li")
    assert attempts.count() == 2
    for one in attempts.all():
        one.get_by_text("Exit code 7").wait_for()
        one.get_by_text("s CPU").wait_for()
    given = {one["number"]: one["outputs"] for one in shared.api("GET", f"/instances/{instance}/attempts").json()["items"]}
    for number, outputs in given.items():
        attempts.filter(has_text=f"Attempt {number}").get_by_text(f"rows={outputs['rows']}").wait_for()
