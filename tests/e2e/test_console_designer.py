"""Designer in a real browser: jobs are made, broken, mended, compared, restored, copied and imported."""

import re

from browser import findings, save, settled, sign_in
from harness import PASSWORD, eventually, seconds


def body(duly, name: str) -> dict:
    return duly.api("GET", f"/jobs/{name}").json()["body"]


def rewrite(page, text: str):
    """As somebody who selects all and pastes."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def test_a_job_is_made_in_the_form(shared, open_page):
    # A draft without a name is refused until it has one.
    page = sign_in(open_page(expected="status of 422"), shared, path="/ui/jobs")
    page.get_by_role("link", name="New job").first.click()
    page.get_by_label("Name", exact=True).fill("made-here")
    page.get_by_label("Folder", exact=True).fill("billing/daily")
    page.get_by_label("Source").fill("echo one\necho two\n")
    page.get_by_label("Trigger").select_option("cron")
    page.get_by_label("How often").select_option("weekly")
    page.get_by_label("Zone", exact=True).fill("America/New_York")
    page.get_by_label("If the last one still runs").select_option("skip")
    page.get_by_label("Retries").fill("2")
    page.get_by_label("Wait before a retry").fill("7s")
    page.get_by_label("Which agent").select_option("round")
    page.get_by_text("One after the other, so that each gets as much.").wait_for()
    page.get_by_text("On the clocks of America/New_York").wait_for()
    page.locator(".plan .tag", has_text="New").wait_for()
    save(page)
    page.get_by_role("heading", name="made-here").wait_for()
    made = body(shared, "made-here")
    assert made["sh"] == "echo one\necho two\n" and made["folder"] == "billing/daily"
    assert made["cron"] == {"expr": "0 0 3 ? * MON", "zone": "America/New_York"}
    assert made["overlap"] == "skip" and made["retry"] == {"times": 2, "delay": "7s"}
    assert made["pool"]["route"] == "round"


def test_a_job_is_broken_and_mended(shared, open_page):
    shared.apply("job: mended\nmanual: true\nsh: echo well\nvariables: { kept: by-the-form }\n")
    page = sign_in(open_page(expected="status of 422"), shared, path="/ui/jobs/mended/edit?view=yaml")
    page.locator(".cm-content").wait_for()
    rewrite(page, "job: mended\nmanual: true\nsh: echo well\nretry: { times: 3, dely: 5s }\nvariables: { kept: by-the-form }\n")
    plan = page.locator(".plan")
    plan.get_by_text("E0202").wait_for()
    plan.get_by_text("did you mean `delay`?").wait_for()
    assert "line 4" in plan.inner_text()
    page.locator(".cm-lint-marker-error").wait_for()
    assert page.get_by_role("button", name="Save", exact=True).is_disabled()
    page.get_by_role("link", name="Form", exact=True).click()
    page.locator("fieldset .fault", has_text="dely").wait_for()
    page.get_by_role("link", name="YAML", exact=True).click()
    rewrite(page, "# a comment\njob: mended\nmanual: true\nsh: echo well\nretry: { times: 3, delay: 5s }\nvariables: { kept: by-the-form }\n")
    page.get_by_role("link", name="Form", exact=True).click()
    page.get_by_label("Timeout").fill("5m")
    plan.get_by_text("timeout").wait_for()
    page.get_by_role("link", name="YAML", exact=True).click()
    page.locator(".cm-content", has_text="# a comment").get_by_text("by-the-form").wait_for()
    save(page)
    page.get_by_role("heading", name="mended", exact=True).wait_for()
    now = body(shared, "mended")
    assert now["retry"] == {"times": 3, "delay": "5s"} and now["timeout"] == "5m" and now["variables"] == {"kept": "by-the-form"}
    page.get_by_role("button", name="Run now: mended").click()
    page.locator(".log-line", has_text="well").wait_for()


def test_keys_are_completed_from_what_the_server_knows(shared, open_page):
    page = sign_in(open_page(expected="status of 422"), shared, path="/ui/new-job?view=yaml")
    page.locator(".cm-content").wait_for()
    rewrite(page, "job: completed\nmanual: true\nnoop: true\npool:\n  ro")
    page.keyboard.press("Control+Space")
    page.locator(".cm-tooltip-autocomplete li", has_text="route").wait_for()
    page.wait_for_timeout(200)  # a list that just came does not take a key that was meant for the text
    page.keyboard.press("Enter")
    page.keyboard.insert_text("broad")
    page.keyboard.press("Control+Space")
    page.locator(".cm-tooltip-autocomplete li", has_text="broadcast").click()
    page.locator(".cm-line", has_text="route: broadcast").wait_for()


def test_the_preview_is_what_fires(shared, open_page):
    page = sign_in(open_page(expected="status of 422"), shared, path="/ui/new-job")
    page.get_by_label("Name", exact=True).fill("previewed")
    page.get_by_label("Task").select_option("noop")
    page.get_by_label("Trigger").select_option("cron")
    page.get_by_label("Zone", exact=True).fill("Asia/Shanghai")
    page.get_by_label("Expression").fill("1/3 * * * * ?")
    shown = eventually(lambda: every_three_seconds(page.locator(".preview li .number").all_inner_texts()), "the times ahead are shown")
    save(page)
    page.get_by_role("heading", name="previewed").wait_for()
    ended = lambda: sorted(seconds(one["planned_at"]) for one in shared.instances("previewed") if one["state"] == "succeeded")
    fired = eventually(lambda: (seen := ended()) and seen[-1] >= shown[-1] and seen, "the last of them has come")
    assert shared.api("POST", "/jobs/previewed/disable").status_code == 200
    kept = [at for at in fired if at <= shown[-1]]
    assert len(kept) > 1 and kept == shown[-len(kept):], "nothing but what was shown, and all of it since it was saved"


def every_three_seconds(shown: list[str]) -> list[int]:
    """Times on the clocks of Shanghai, if they are those of the expression and not of the one before it."""
    times = [seconds(f"{at.replace(' ', 'T')}+08:00") for at in shown]
    return times if len(times) == 8 and all(after - before == 3 for before, after in zip(times, times[1:])) else []


def test_a_change_of_the_clocks_is_marked(shared, open_page):
    page = sign_in(open_page(expected="status of 422"), shared, path="/ui/new-job?view=yaml")
    page.locator(".cm-content").wait_for()
    rewrite(page, "job: clocks\nnoop: true\ncron: { expr: '0 30 2 * * ?', zone: America/New_York, start: '2027-03-12T00:00:00Z' }\n")
    page.get_by_role("link", name="Form", exact=True).click()
    page.locator(".preview .tag", has_text="clocks changed: -04:00").wait_for()
    page.locator(".preview li", has_text="2027-03-14 03:00:00").wait_for()


def test_an_old_version_is_compared_and_restored(shared, open_page):
    shared.apply("job: older\nmanual: true\nsh: echo first\n")
    shared.apply("job: older\nmanual: true\nsh: echo second\n")
    old, new = sorted(one["version"] for one in shared.api("GET", "/jobs/older/versions").json()["items"])
    page = sign_in(open_page(), shared, path="/ui/jobs/older")
    page.get_by_role("link", name=f"Version {old}", exact=True).click()
    page.get_by_label("With").select_option(label=f"Version {new}")
    page.get_by_role("heading", name=f"From version {new} to {old}").wait_for()
    page.locator(".cm-deletedChunk", has_text="second").wait_for()
    page.locator(".cm-changedLine", has_text="first").wait_for()
    page.get_by_role("button", name="Restore version").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore version").click()
    page.get_by_text(f"Version {old} is the job again").wait_for()
    assert body(shared, "older")["sh"] == "echo first"


def test_jobs_are_copied_exported_imported_and_deleted(shared, open_page, tmp_path):
    shared.apply("job: original\nmanual: true\nsh: echo original\nlabels: { team: a }\n")
    page = sign_in(open_page(expected="status of (422|404)"), shared, path="/ui/jobs/original")
    with page.expect_download() as got:
        page.get_by_role("button", name="Export").click()
    file = tmp_path / "jobs.yaml"
    file.write_text(open(got.value.path()).read().replace("original", "imported") + "---\njob: original\nmanual: true\nsh: echo changed\n")
    page.get_by_role("link", name="Copy", exact=True).click()
    eventually(lambda: page.get_by_label("Name", exact=True).input_value() == "original-copy", "the copy has a name of its own")
    save(page)
    page.get_by_role("heading", name="original-copy").wait_for()
    page.goto(shared.url + "/ui/import-jobs")
    page.get_by_label("Choose files").set_input_files(file)
    page.locator(".plan li", has_text="imported").get_by_text("New").first.wait_for()
    page.locator(".plan li", has_text="original").get_by_text("Changes").first.wait_for()
    page.locator(".plan del", has_text="echo original").wait_for()
    apply = page.get_by_role("button", name="Apply this plan")
    eventually(apply.is_enabled, "the plan can be applied")
    apply.click()
    page.get_by_role("link", name="imported").wait_for()
    assert body(shared, "original")["sh"] == "echo changed"
    page.goto(shared.url + "/ui/jobs/original-copy")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_role("heading", name="Jobs").wait_for()
    assert shared.api("GET", "/jobs/original-copy").status_code == 404


def test_a_job_is_run_with_other_parameters_on_a_certain_agent(shared, open_page):
    shared.apply("job: asked\nmanual: true\nparams: { region: east }\nsh: echo \"region $DULY_PARAM_REGION\"\n")
    agent = shared.api("GET", "/agents").json()["items"][0]["name"]
    page = sign_in(open_page(), shared, path="/ui/jobs/asked")
    page.get_by_role("button", name="Run with…").click()
    sheet = page.get_by_role("dialog")
    params = sheet.get_by_label("Parameters")
    assert '"east"' in params.input_value()
    params.fill("{ region")
    sheet.get_by_text("This is not a JSON object yet.").wait_for()
    params.fill('{ "region": "west" }')
    sheet.get_by_label("On", exact=True).fill(agent)
    sheet.get_by_label("Planned time").fill("2026-11-01T02:03:04")
    sheet.get_by_role("button", name="Run now").click()
    page.locator(".log-line", has_text="region west").wait_for()
    page.locator("dd", has_text="2026-11-01 02:03:04").wait_for()


def test_the_list_tells_results_tags_and_favourites(shared, open_page):
    shared.apply("job: told\nmanual: true\nfolder: told/here\nowner: the-owner\nlabels: { team: a }\ndescription: |\n  **Bold** words\nsh: 'exit $DULY_PARAM_CODE'\nparams: { code: 0 }\n")
    for code in (0, 3):
        shared.ended(shared.trigger("told", "-p", f"code={code}"))
    page = sign_in(open_page(), shared, path="/ui/jobs?folder=told/here")
    row = page.get_by_role("row", name=re.compile("told"))
    row.locator(".strip-good").wait_for()
    row.locator(".strip-bad").wait_for()
    row.get_by_text("team=a").wait_for()
    row.get_by_text("the-owner").wait_for()
    way = page.get_by_role("navigation", name="Folder")
    way.get_by_role("link", name="told", exact=True).click()
    page.wait_for_url("**/ui/jobs?folder=told")
    page.get_by_label("Folder", exact=True).and_(page.locator("input")).focus()
    eventually(lambda: page.locator("datalist option[value='told/here']").count() == 1, "folders are offered")
    assert ["told/here", "1"] in [line.split() for line in shared.run("job", "folders", check=True).stdout.splitlines()]
    row.wait_for()
    row.get_by_role("button", name="Favourite: told").click()
    page.reload()
    page.locator(".favourites").get_by_role("link", name="told").click()
    page.locator(".markdown strong", has_text="Bold").wait_for()


def test_everything_is_found_by_keyboard(shared, open_page):
    shared.apply("job: needle-in-hay\nmanual: true\nnoop: true\n")
    instance = shared.trigger("needle-in-hay")
    page = sign_in(open_page(), shared)
    settled(page)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search everything").fill("needle")
    page.get_by_role("option", name="Job needle-in-hay").wait_for()
    assert not findings(page)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="needle-in-hay").wait_for()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search everything").fill(str(instance))
    page.get_by_role("option", name=f"Instance {instance}").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/ui/instances/{instance}")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search everything").fill("audi")
    page.get_by_role("option", name="Page Audit").click()
    page.wait_for_url("**/ui/audit")


def test_whatever_has_a_name_is_found(shared, open_page):
    for path, name in (("variables", "zephyr_region"), ("secrets", "zephyr_password")):
        assert shared.api("PUT", f"/{path}/{name}", json={"value": "value-of-it"}).ok
    assert shared.api("PUT", "/pools/zephyr-pool", json={"limit": 2}).ok
    for path, body in (("tenants", {"name": "zephyr-works"}), ("groups", {"name": "zephyr-crew"}), ("people", {"name": "zephyrine", "password": PASSWORD})):
        assert shared.api("POST", f"/{path}", json=body).status_code == 201
    page = sign_in(open_page(), shared)
    settled(page)
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Search everything")
    box.fill("zephyr")
    for found in ("Variable zephyr_region", "Secret zephyr_password", "Pool zephyr-pool", "Tenant zephyr-works", "Group zephyr-crew"):
        page.get_by_role("option", name=found).wait_for()
    page.get_by_role("option", name="Person zephyrine").click()
    page.wait_for_url("**/ui/people/zephyrine")
    for words, at in (("new jo", "new-job"), ("secrets", "secrets"), ("xxl", "xxl-tokens"), ("your acc", "account")):
        page.keyboard.press("Control+k")
        box.fill(words)
        page.get_by_role("option", name="Page").first.and_(page.locator("[aria-selected=true]")).wait_for()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/ui/{at}")


def test_a_script_is_tried_saved_and_rolled_back(shared, open_page):
    shared.apply("job: glue\nmanual: true\npython: print('the first')\n")
    page = sign_in(open_page(), shared, path="/ui/jobs/glue")
    page.get_by_role("link", name="Script", exact=True).click()
    page.locator(".cm-content", has_text="the first").wait_for()
    rewrite(page, "print('the second')\n")
    page.get_by_role("button", name="Try it").click()
    page.locator(".log-line", has_text="the second").wait_for()
    page.locator("h2 .tag", has_text="Succeeded").wait_for()
    assert "first" in body(shared, "glue")["python"], "a trial leaves the job alone"
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("glue is saved").wait_for()
    eventually(lambda: shared.api("GET", "/jobs/glue.try").status_code == 404, "the trial's job goes when it has ended")
    page.locator(".log-line", has_text="the second").wait_for()
    assert body(shared, "glue")["python"] == "print('the second')\n"
    page.locator(".version-list button").nth(1).click()
    page.locator(".cm-deletedChunk", has_text="the first").wait_for()
    page.get_by_role("button", name=re.compile("Take version")).click()
    page.get_by_role("button", name="Save", exact=True).click()
    eventually(lambda: body(shared, "glue")["python"] == "print('the first')", "the old script is the job's again")


def test_a_job_is_made_and_run_without_a_mouse(shared, open_page):
    page = open_page(expected="status of 422")
    page.goto(shared.url + "/ui")
    page.locator("input[name=name]:focus").wait_for()
    page.keyboard.type("ada")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.locator("header.topbar").wait_for()
    settled(page)
    page.keyboard.press("Tab")
    page.get_by_role("link", name="Skip to content").and_(page.locator(":focus")).wait_for()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search everything").and_(page.locator(":focus")).wait_for()
    page.keyboard.type("jobs")
    page.get_by_role("option", name="Page Jobs", selected=True).wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/jobs")
    settled(page)
    walk_to(page, page.get_by_role("link", name="New job").first)
    page.keyboard.press("Enter")
    walk_to(page, page.get_by_label("Name", exact=True))
    page.keyboard.type("by-keys")
    walk_to(page, page.get_by_label("Trigger"))
    page.keyboard.type("Every so")
    walk_to(page, page.get_by_label("Every", exact=True))
    page.keyboard.press("Control+a")
    page.keyboard.type("2h")
    save_button = page.get_by_role("button", name="Save", exact=True)
    eventually(save_button.is_enabled, "the draft is checked and can be saved", within=15)
    walk_to(page, save_button, "Shift+Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="by-keys").wait_for()
    assert body(shared, "by-keys")["every"] == "2h"
    walk_to(page, page.get_by_role("button", name="Run now: by-keys"))
    page.keyboard.press("Enter")
    page.locator(".log-line", has_text="hello").wait_for()


def walk_to(page, wanted, key: str = "Tab"):
    """Goes on from where one is until it has the focus, which can be seen."""
    wanted.wait_for()
    for _ in range(80):
        if wanted.evaluate("(one) => one === document.activeElement && one.matches(':focus-visible')"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} never leads to {wanted}")


def test_nothing_unsaved_is_left_without_a_question(shared, open_page):
    shared.apply("job: kept\nmanual: true\nsh: echo kept\n")
    page = sign_in(open_page(), shared, path="/ui/jobs/kept/edit")
    page.get_by_label("Timeout").fill("5m")
    page.get_by_role("link", name="YAML", exact=True).click()
    page.locator(".cm-content", has_text="5m").wait_for()
    page.get_by_role("link", name="Instances", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    page.locator(".cm-content", has_text="5m").wait_for()
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.reload()
    assert asked == ["beforeunload"]
    page.get_by_role("link", name="Form", exact=True).click()
    page.get_by_label("Timeout").fill("6m")
    page.get_by_role("link", name="Instances", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Leave").click()
    page.wait_for_url("**/ui/instances")
    page.goto(f"{shared.url}/ui/jobs/kept/edit")
    page.get_by_label("Timeout").fill("7m")
    save(page)
    page.get_by_role("heading", name="kept", exact=True).wait_for()
    assert body(shared, "kept")["timeout"] == "7m"


def test_a_script_that_was_changed_elsewhere_is_not_overwritten_silently(shared, open_page):
    shared.apply("job: contested\nmanual: true\nsh: echo first\n")
    page = sign_in(open_page(), shared, path="/ui/jobs/contested/script")
    page.locator(".cm-content", has_text="first").wait_for()
    shared.apply("job: contested\nmanual: true\nsh: echo second\n")
    page.locator(".cm-content", has_text="second").wait_for()
    rewrite(page, "echo mine\n")
    shared.apply("job: contested\nmanual: true\ntimeout: 5m\nsh: echo theirs\n")
    page.get_by_text("The script was changed elsewhere meanwhile").wait_for()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert body(shared, "contested")["sh"] == "echo theirs"
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Save over it").click()
    page.get_by_text("contested is saved").wait_for()
    now = body(shared, "contested")
    assert now["sh"] == "echo mine\n" and now["timeout"] == "5m", "what else they changed stays"
    assert page.get_by_text("The script was changed elsewhere meanwhile").count() == 0
