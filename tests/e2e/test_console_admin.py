"""The Admin desk in a real browser against the real server: what is made there works, what is shown once is shown once."""

import re

from browser import findings, save, settled, sign_in
from harness import ON_POSTGRES, PASSWORD, eventually
from xxl_peers import KINDS

OWN = "a password of my own"
PYXXL = next(kind for kind in KINDS if kind.name == "pyxxl")


def at(page, duly, path: str):
    page.goto(duly.url + "/ui" + path)
    settled(page)
    return page


def fill_in(page, opener: str, submit: str | None = None, **fields):
    """Opens a sheet, fills it in by its labels (`_` for a space), and sends it; answers the sheet."""
    page.get_by_role("button", name=opener, exact=True).first.click()
    sheet = page.get_by_role("dialog")
    for label, value in fields.items():
        sheet.get_by_label(label.replace("_", " "), exact=True).fill(value)
    if submit:
        sheet.get_by_role("button", name=submit, exact=True).click()
    return sheet


def gone(page):
    eventually(lambda: page.locator("dialog").count() == 0, "the sheet is shut", within=10)


def test_a_role_and_a_grant_made_in_the_browser_work(shared, open_page):
    shared.apply("job: watched\nmanual: true\nsh: echo watched\n")
    admin = sign_in(open_page(), shared, path="/ui/people")
    fill_in(admin, "Add a person", "Add a person", Name="vic", First_password=PASSWORD)
    gone(admin)
    admin.get_by_role("link", name="vic").click()
    admin.get_by_text("No grant reaches them here").wait_for()
    fill_in(admin, "Grant a role", "Grant a role")
    gone(admin)
    admin.get_by_text("viewer, given to them").first.wait_for()

    vic = open_page()
    vic.goto(shared.url + "/ui/jobs/watched")
    vic.locator("input[name=name]").fill("vic")
    vic.locator("input[name=password]").fill(PASSWORD)
    vic.locator("button[type=submit]").click()
    vic.get_by_label("Present password").fill(PASSWORD)
    vic.get_by_label("New password").fill(OWN)
    vic.get_by_role("button", name="Set it").click()
    run = vic.get_by_role("button", name="Run now: watched")
    run.wait_for()
    assert run.is_disabled()
    assert vic.get_by_role("link", name="People").count() == 0 and vic.get_by_role("link", name="Audit").count() == 0
    at(vic, shared, "/pools")
    assert vic.get_by_role("button", name="Set up a pool").is_disabled()

    at(admin, shared, "/roles")
    sheet = fill_in(admin, "Make a role", Role="starter")
    for permission in ("job.see", "job.run", "instance.see", "log.see"):
        sheet.get_by_label(re.compile(rf"^{re.escape(permission)} ")).check()
    sheet.get_by_role("button", name="Save").click()
    gone(admin)
    at(admin, shared, "/grants")
    sheet = fill_in(admin, "Grant a role", Name="vic")
    sheet.get_by_label("Role").select_option("starter")
    sheet.get_by_role("button", name="Grant a role").click()
    gone(admin)

    at(vic, shared, "/jobs/watched")
    run.click()
    vic.locator(".log-line", has_text="watched").wait_for()

    at(admin, shared, "/people/vic?may=job.run")
    admin.get_by_text("starter, given to them").wait_for()
    admin.locator(".tag", has_text="Yes").wait_for()
    admin.get_by_label("May they…").select_option("pool.edit")
    admin.get_by_text("No: none of their grants has a role with pool.edit.").wait_for()
    assert "may=pool.edit" in admin.url


def test_a_token_is_shown_once_and_works(shared, open_page):
    page = sign_in(open_page(), shared)
    page.locator("summary", has_text="ada").click()
    page.get_by_role("link", name="Your account").click()
    page.get_by_role("heading", name="Your account").wait_for()
    assert page.locator("details.drop[open]").count() == 0
    sheet = fill_in(page, "Make a token", Name="dashboard")
    sheet.get_by_label(re.compile("^job.see ")).check()
    sheet.get_by_role("button", name="Make a token").click()
    token = sheet.locator("pre").inner_text().strip()
    assert shared.api("GET", "/jobs", token=token).status_code == 200
    assert shared.api("GET", "/people", token=token).status_code == 403, "no more than its scope"
    sheet.get_by_role("button", name="Close").click()
    gone(page)
    row = page.get_by_role("row", name=re.compile("dashboard"))
    row.get_by_text("job.see").wait_for()
    assert token not in page.content()
    row.get_by_role("button", name="Revoke: dashboard").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    eventually(lambda: row.count() == 0, "it is no longer listed", within=10)
    assert shared.api("GET", "/jobs", token=token).status_code == 401


def test_a_tenant_is_made_is_a_world_of_its_own_and_goes(shared, open_page):
    shared.apply("job: at-home\nmanual: true\nnoop: true\n")
    page = sign_in(open_page(), shared, path="/ui/tenants")
    fill_in(page, "Make a tenant", "Make a tenant", Name="globex", Running_at_once="7")
    gone(page)
    page.get_by_role("link", name="globex").click()
    page.get_by_text("of 7").wait_for()
    page.get_by_role("link", name="Look at it").click()
    page.get_by_role("heading", name="Home").wait_for()
    assert "tenant=globex" in page.url
    at(page, shared, "/variables?tenant=globex")
    fill_in(page, "Set a variable", "Save", Name="region", Value="there")
    gone(page)
    page.get_by_role("cell", name="there").wait_for()
    at(page, shared, "/jobs?tenant=globex")
    page.get_by_text("There is no job yet").wait_for()
    at(page, shared, "/variables")
    assert page.get_by_role("cell", name="there").count() == 0

    at(page, shared, "/tenants/globex")
    page.get_by_role("button", name="Delete").click()
    sheet = page.get_by_role("dialog")
    with page.expect_download() as saved:
        sheet.get_by_role("button", name="Export").click()
    assert '"end"' in saved.value.path().read_text()
    sheet.get_by_role("button", name="Show what would go").click()
    go = sheet.get_by_role("button", name="Delete it for good")
    sheet.get_by_label("Type globex to confirm").fill("glob")
    assert go.is_disabled()
    sheet.get_by_label("Type globex to confirm").fill("globex")
    go.click()
    eventually(lambda: shared.api("GET", "/tenants/globex").status_code == 404, "it goes")


def test_what_is_refused_is_told_in_the_form(shared, open_page):
    page = sign_in(open_page(expected="status of 4"), shared, path="/ui/tenants")
    sheet = fill_in(page, "Make a tenant", "Make a tenant", Name="default")
    sheet.get_by_role("alert").get_by_text("What to do").wait_for()
    sheet.get_by_role("alert").locator("code", has_text=re.compile(r"E\d{4}")).wait_for()
    assert sheet.get_by_label("Name").input_value() == "default", "nothing that was typed is lost"
    assert not findings(page)


def test_a_variable_and_a_secret_are_set_and_the_secret_is_never_shown(shared, open_page):
    page = sign_in(open_page(), shared, path="/ui/variables")
    fill_in(page, "Set a variable", "Save", Name="greeting", Value="hello there")
    gone(page)
    page.get_by_role("cell", name="hello there").wait_for()
    page.get_by_role("link", name="Secrets").click()
    fill_in(page, "Set a secret", "Save", Name="db_password", Value="swordfish-42")
    gone(page)
    page.get_by_role("cell", name="db_password", exact=True).wait_for()
    instance = shared.apply_and_trigger(
        "uses", 'manual: true\nenv: { G: "${greeting}" }\nsecrets: { PW: db_password }\nsh: \'echo "$G ${#PW}"\'')
    shared.ended(instance)
    page.get_by_role("link", name="uses").wait_for()
    assert "swordfish" not in page.content()
    at(page, shared, f"/instances/{instance}").locator(".log-line", has_text="hello there 12").wait_for()


def test_the_audit_shows_what_was_before_and_after(shared, open_page):
    page = sign_in(open_page(), shared, path="/ui/pools")
    fill_in(page, "Set up a pool", "Save", Pool="night", At_once="3")
    gone(page)
    page.get_by_role("cell", name="night", exact=True).wait_for()
    fill_in(page, "Change pool night", "Save", At_once="5")
    gone(page)
    at(page, shared, "/audit")
    page.get_by_label("What").fill("pool_put")
    page.get_by_label("About").fill("night")
    # One of them alone may find just these two.
    page.wait_for_url(lambda url: "operation=pool_put" in url and "about=night" in url)
    page.get_by_text("2 rows").wait_for()
    page.locator("tbody tr").first.get_by_role("link").first.click()
    page.locator("del", has_text="3").wait_for()
    assert page.locator("ins", has_text="5").count() == 1
    at(page, shared, "/audit?who=nobody")
    page.get_by_text("Nothing matches").wait_for()
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_role("link", name="Next page").or_(page.locator("tbody tr")).first.wait_for()
    sheet = fill_in(page, "Check the chain", "Check it")
    sheet.get_by_text("The chain is whole").wait_for()


def test_an_agent_joins_by_the_command_shown_and_is_drained_in_the_tree(shared, open_page):
    # Its page may hear that it was revoked before it is left.
    page = sign_in(open_page(expected=r"status of 404.*/agents/\d+"), shared, path="/ui/agents")
    sheet = fill_in(page, "Add an agent", "Make the command", Pools="console")
    command = sheet.locator("pre").inner_text()
    server = re.search(r"duly agent --server (https://\S+) --join-token-file join.txt", command).group(1)
    (shared.root / "join-from-console").write_text(re.search(r"'(join_[^']+)'", command).group(1))
    sheet.get_by_role("button", name="Close").click()
    agent = shared.join_agent("from-console", server=server)
    try:
        branch = page.locator("details.branch", has_text="console")
        branch.get_by_role("link", name="from-console").wait_for(timeout=30_000)
        branch.get_by_role("button", name="Drain: from-console").click()
        branch.locator(".tag", has_text="Drained").wait_for()
        drained = lambda: {one["name"]: one["drained"] for one in shared.api("GET", "/agents").json()["items"]}["from-console"]
        eventually(drained, "the server has it, too")
        branch.get_by_role("link", name="from-console").click()
        page.get_by_role("heading", name="What its machine allows").wait_for()
        page.get_by_role("button", name="Undrain: from-console").click()
        page.get_by_role("button", name="Drain: from-console").wait_for()
        page.get_by_role("button", name="Revoke").click()
        page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        page.wait_for_url("**/ui/agents")
        eventually(lambda: page.get_by_role("link", name="from-console").count() == 0, "it is no longer listed")
    finally:
        agent.kill()
        agent.wait()


def test_an_executor_of_xxl_job_appears_runs_and_is_drained(shared, peers, open_page):
    page = sign_in(open_page(expected="status of 422"), shared, path="/ui/xxl-tokens")
    sheet = fill_in(page, "Make a token", "Make a token", Application="demo-app")
    token = sheet.locator("pre").inner_text().strip().removeprefix("xxl.job.accessToken=")
    sheet.get_by_role("button", name="Close").click()
    page.get_by_role("cell", name="demo-app").wait_for()
    at(page, shared, "/agents")
    peer = peers(PYXXL, shared.url, token, "demo-app")
    branch = page.locator("details.branch", has_text="demo-app")
    branch.get_by_role("link", name=peer.address).wait_for(timeout=30_000)
    branch.get_by_role("cell", name="XXL-JOB executor").wait_for()
    branch.locator(".tag", has_text="Online").wait_for()

    page.get_by_role("link", name="Jobs", exact=True).click()
    page.get_by_role("link", name="New job").first.click()
    page.get_by_label("Name", exact=True).fill("counts")
    page.get_by_label("Task").select_option("executor")
    page.get_by_label("Handler", exact=True).fill("chatty")
    page.get_by_label("What the handler is given").fill("20")
    page.get_by_label("Pool", exact=True).fill("demo-app")
    save(page)
    run = page.get_by_role("button", name="Run now: counts")
    run.click()
    page.locator(".log-line", has_text=re.compile(r"line 20\s*$")).wait_for(timeout=30_000)
    page.locator("h1 + .tag", has_text="Succeeded").wait_for()
    page.locator("dd", has_text=peer.address).wait_for()
    page.locator("dd", has_text="demo-app · The least loaded").wait_for()
    assert [line.what for line in peer.trace(handler="chatty")] == ["start", "end"]

    at(page, shared, "/agents")
    branch.get_by_role("button", name=f"Drain: {peer.address}").click()
    branch.locator(".tag", has_text="Drained").wait_for()
    at(page, shared, "/jobs/counts")
    run.click()
    page.locator("h1 + .tag", has_text="Ready").wait_for()
    page.locator(".why", has_text="takes nothing new").wait_for()
    at(page, shared, "/agents")
    branch.get_by_role("button", name=f"Undrain: {peer.address}").click()
    eventually(lambda: len(peer.trace(what="end", handler="chatty")) == 2, "what waited runs")


def test_a_group_gives_its_members_what_it_has(shared, open_page):
    shared.apply("job: for-the-crew\nmanual: true\nnoop: true\n")
    assert shared.api("POST", "/people", json={"name": "gus", "password": PASSWORD}).status_code == 201
    token = shared.api("POST", "/sessions", token=None, json={"name": "gus", "password": PASSWORD}).json()["token"]
    assert shared.api("PUT", "/whoami/password", token=token, json={"old": PASSWORD, "new": OWN}).status_code == 204
    allowed = lambda: shared.api("GET", "/jobs/for-the-crew", token=token).status_code == 200
    page = sign_in(open_page(), shared, path="/ui/groups")
    fill_in(page, "Make a group", "Make a group", Group="crew")
    gone(page)
    page.get_by_text("Group crew was made").wait_for()
    page.get_by_role("button", name="Add somebody: crew").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("Name", exact=True).fill("gus")
    assert not findings(page)
    sheet.get_by_role("button", name="Add somebody").click()
    gone(page)
    page.get_by_role("row", name=re.compile("crew")).get_by_text("gus").wait_for()
    assert not allowed()
    at(page, shared, "/grants")
    page.get_by_role("button", name="Grant a role").first.click()
    sheet.get_by_label("To whom").select_option("group")
    sheet.get_by_label("Name", exact=True).fill("crew")
    sheet.get_by_role("button", name="Grant a role").click()
    gone(page)
    eventually(allowed, "what the group has, its members have")
    at(page, shared, "/groups")
    page.get_by_role("button", name="Take gus out of crew").click()
    page.get_by_text("gus is no longer in crew").wait_for()
    eventually(lambda: not allowed(), "and no longer, when they are not")
    page.get_by_role("button", name="Delete: crew").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_text("Group crew was deleted").wait_for()
    page.get_by_text("There is no group yet").wait_for()


def test_a_session_is_ended_from_another_one_and_by_an_administrator(shared, open_page):
    here = sign_in(open_page(), shared, path="/ui/account")
    there = sign_in(open_page(expected="status of 401"), shared, path="/ui/about")
    settled(there)
    own = here.locator("section", has=here.get_by_role("heading", name="Signed in"))
    here.reload()
    own.get_by_text("This one").wait_for()
    ends = own.get_by_role("button", name="End", exact=True)
    before = ends.count()
    assert before >= 1 and own.get_by_role("row", name=re.compile("This one")).get_by_role("button").count() == 0
    while ends.count():
        left = ends.count()
        ends.first.click()
        eventually(lambda: ends.count() < left, "it is no longer listed")
    there.reload()
    there.locator("input[name=password]").wait_for()
    assert shared.api("POST", "/people", json={"name": "sid", "password": PASSWORD}).status_code == 201
    token = shared.api("POST", "/sessions", token=None, json={"name": "sid", "password": PASSWORD}).json()["token"]
    at(here, shared, "/people/sid")
    here.get_by_role("button", name="Sign out everywhere").click()
    here.get_by_role("dialog").get_by_role("button", name="Sign out everywhere").click()
    here.get_by_text("All sessions have ended").wait_for()
    assert shared.api("GET", "/whoami", token=token).status_code == 401


def test_the_limit_of_the_installation_holds_and_a_backup_is_taken(shared, open_page):
    shared.apply("job: bounded\nmanual: true\noverlap: allow\nsh: sleep 600\n")
    page = sign_in(open_page(), shared, path="/ui/settings")
    page.get_by_text("No bound: as much as agents have slots for.").wait_for()
    fill_in(page, "Change how much runs at once", "Save", Instances_at_once="1")
    gone(page)
    page.get_by_text("At most 1 instance.").wait_for()
    try:
        first, second = shared.trigger("bounded"), shared.trigger("bounded")
        shared.wait_state(first, "running")
        waits = lambda: " ".join(one["text"] for one in shared.json("why", second)["reasons"])
        eventually(lambda: "limit" in waits() or "at once" in waits(), "the second one waits for the limit")
        assert shared.json("instance", "show", second)["state"] == "ready"
        for instance in (second, first):
            assert shared.api("POST", f"/instances/{instance}/stop").status_code == 200
    finally:
        shared.api("PUT", "/limits", json={"limit": None})
    page.get_by_text("Nothing: no input has broken the engine.").wait_for()
    if ON_POSTGRES:
        page.get_by_text("The store is in PostgreSQL").wait_for()
        assert page.get_by_role("button", name="Download a backup").count() == 0
        return
    page.get_by_role("button", name="Download a backup").click()
    with page.expect_download() as saved:
        page.get_by_role("dialog").get_by_role("button", name="Download a backup").click()
    assert saved.value.path().read_bytes().startswith(b"SQLite format 3")
