"""Drives the web console in Debian's Chromium for the suite `console`, and says what it measured: a line of JSON for each
round. What it says on stderr is for people.
"""

import argparse
import datetime
import http.client
import json
import pathlib
import shutil
import statistics
import sys
import threading
import time
import urllib.parse

HERE = pathlib.Path(__file__).parent
BUNDLE = HERE.parents[1] / "console" / "dist" / "index.html"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Lists that are answered at once.
WHOLE = ["agents", "pools", "variables", "secrets", "people", "groups", "roles", "grants", "tenants", "xxl-tokens"]
# Pages that are tabs of others, which are in the menu.
TABS = {"/ui/secrets": "/ui/variables", "/ui/groups": "/ui/people", "/ui/roles": "/ui/grants", "/ui/xxl-tokens": "/ui/agents"}
# A page without rows, from which all others are opened.
QUIET = "/ui/settings"
# The same pages with other rows, or pages like them.
USED = ["/ui/instances?cause=planned", "/ui/dead-letters?job=nothing", "/ui/jobs?mode=enabled", "/ui/audit?outcome=done",
        "/ui/resources", "/ui/servers"]
WARM_UP_S, EVERY_S = 10, 10
# Faster than any pause a field waits for, and slower than all of them, so that each letter is asked for.
SPEEDS_MS = [60, 360]


def why_not() -> str | None:
    if not CHROMIUM:
        return "there is no Chromium"
    if not BUNDLE.exists():
        return "the web console was not built: make console"
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "this Python has no playwright"
    return None


def say(text: str):
    print(f"console: {text}", file=sys.stderr, flush=True)


def tell(what):
    print(json.dumps(what), flush=True)


class Console:
    """Somebody who is signed in."""

    def __init__(self, browser, told):
        self.url = told.url
        self.page = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-US").new_page()
        self.page.set_default_timeout(30_000)
        self.page.add_init_script(path=HERE / "inside.js")
        self.page.goto(self.url + QUIET)
        self.page.locator("input[name=name]").fill("ada")
        self.page.locator("input[name=password]").fill(pathlib.Path(told.password_file).read_text())
        self.page.locator("button[type=submit]").click()
        self.settle()

    def open(self, path: str):
        self.page.goto(self.url + path)
        self.settle()

    def settle(self):
        self.page.locator("header.topbar").wait_for()
        self.page.locator("main h1").first.wait_for()
        self.page.locator(".loading").first.wait_for(state="detached")
        # Files that are loaded when nothing else is to do, and the words of this page.
        self.page.wait_for_timeout(250)

    def run(self, script: str, *given):
        return self.page.evaluate(script, list(given))


class Outside:
    """A program with a token: one connection, kept."""

    def __init__(self, told):
        self.to = http.client.HTTPConnection(urllib.parse.urlsplit(told.url).netloc)
        self.headers = {"authorization": f"Bearer {pathlib.Path(told.token_file).read_text().strip()}"}

    def call(self, path: str) -> float:
        """Milliseconds, its JSON read."""
        began = time.perf_counter()
        self.to.request("GET", path, headers=self.headers)
        answer = self.to.getresponse()
        body = json.loads(answer.read())
        took = (time.perf_counter() - began) * 1000
        assert answer.status == 200, (path, body)
        return took


def all_lists(job: str) -> list[tuple]:
    """Name, address in the console, and the call it makes."""
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    day = lambda days: (now - datetime.timedelta(days=days)).isoformat().replace("+00:00", "Z")
    instances = lambda name, **query: paged(name, "/instances", "instances", query)
    return [
        instances("instances"),
        instances("instances of a job", job=job),
        instances("failed instances", state="failed"),
        instances("running instances", state="running"),
        instances("instances of a day", **{"from": day(3), "to": day(2)}),
        ("dead letters", "/ui/dead-letters", "/api/v1/instances?state=dead&limit=50"),
        paged("jobs", "/jobs", "jobs", {}),
        paged("jobs by a part of the name", "/jobs", "jobs", {"name": "report_001"}),
        paged("jobs of a folder", "/jobs", "jobs", {"folder": "team_7"}),
        paged("audit", "/audit", "audit", {}),
        paged("audit of a person", "/audit", "audit", {"who": "ada"}),
        *[(path.replace("-", " "), f"/ui/{path}", f"/api/v1/{path}") for path in WHOLE],
    ]


def paged(name: str, path: str, asked: str, query: dict) -> tuple:
    address = f"/ui{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
    return name, address, f"/api/v1/{asked}?{urllib.parse.urlencode({'limit': 50, **query})}"


def lists(browser, told):
    console, outside = Console(browser, told), Outside(told)
    every = all_lists(told.job)
    for turn in range(told.rounds + 1):
        in_use(console)
        measured = [one_list(console, outside, list_, turn) for list_ in every]
        for list_ in measured:
            console.page.goto(console.url + list_.pop("at"))
            list_["address"] = console.run("() => bench.opened")
        # What is read for the first time, and files the browser does not have yet, are nobody's fault.
        if turn > 0:
            tell(measured)
            say(f"lists, round {turn} of {told.rounds}")


def in_use(console: Console):
    """A console in which somebody works: its code has run, and none of the lists has been asked for yet."""
    console.open(QUIET)
    for _ in range(2):
        for address in USED:
            console.run("([address]) => bench.enter(address)", address)
            console.settle()
            leave(console)


def leave(console: Console):
    console.run("([address]) => bench.enter(address)", QUIET)
    console.page.locator("main tbody tr").first.wait_for(state="detached")
    console.settle()


def one_list(console: Console, outside: Outside, list_: tuple, turn: int) -> dict:
    name, address, call = list_
    # A mouse that comes to a link loads the page's code before it is clicked.
    console.page.locator(f'nav.menu a[href="{menu(address)}"]').hover()
    console.page.wait_for_timeout(250)
    count = len(console.run("async ([call]) => (await bench.call(call))[1]", call)["items"])
    assert count > 0, f"{name} is empty"

    def floors() -> dict:
        alone = console.run("async ([call]) => (await bench.call(call))[0]", call)
        plain = console.run("([call, markup]) => bench.plainly(call, markup)", call, LOOKS.get(name, ""))
        return {"call": alone, "plain": plain}

    def ours() -> dict:
        took = console.run("([address, count]) => bench.go(address, count)", address, count)
        LOOKS[name] = console.run("() => bench.looks()")
        leave(console)
        return took

    # Whoever comes second finds everything warm: in turn.
    measured = {**floors(), **ours()} if turn % 2 == 0 else {**ours(), **floors()}
    measured["outside"] = statistics.median(outside.call(call) for _ in range(3))
    return {"list": name, "rows": count, "at": address, **measured}


# The markup of each list, once that is known.
LOOKS: dict[str, str] = {}


def menu(address: str) -> str:
    """The link of the menu whose code a page shares, or is nearest to."""
    path = urllib.parse.urlsplit(address).path
    return TABS.get(path, path)


def typing(browser, told):
    console = Console(browser, told)
    for turn in range(told.rounds):
        fields = {"the finder": finder, "the filter of jobs": filter_of_jobs}
        tell({field: slowest(console, prepare, told.job) for field, prepare in fields.items()})
        say(f"typing, round {turn + 1} of {told.rounds}")


def slowest(console: Console, prepare, text: str) -> dict:
    """The worst of a fast and of a slow typist."""
    told = []
    for pace in SPEEDS_MS:
        console.open("/ui/jobs")
        field = prepare(console)
        console.page.wait_for_timeout(500)
        console.run("() => { bench.task(); bench.key(); bench.stop = bench.frames() }")
        field.press_sequentially(text, delay=pace)
        console.page.wait_for_timeout(700)
        told.append(console.run("() => ({ frame: bench.stop(), task: bench.task(), key: bench.key() })"))
        assert field.input_value() == text
    return {name: max(one[name] for one in told) for name in told[0]}


def finder(console: Console):
    console.page.keyboard.press("Control+k")
    return console.page.locator("input.finder-input")


def filter_of_jobs(console: Console):
    field = console.page.locator("search input[type=search]")
    field.click()
    return field


def live(browser, told):
    """The page is open and nobody touches it."""
    events = Events(told)
    console = Console(browser, told)
    page = console.page
    console.open(f"/ui/{told.page}")
    deep = page.context.new_cdp_session(page)
    deep.send("Performance.enable")
    console.run("() => { bench.task(); bench.shown = bench.seen() }")
    page.wait_for_timeout(WARM_UP_S * 1000)
    counted, began, lags, tasks = events.count, time.time(), [], []
    samples = [sample(console, deep, events, lags, tasks)]
    for _ in range(told.seconds // EVERY_S):
        page.wait_for_timeout(EVERY_S * 1000)
        samples.append(sample(console, deep, events, lags, tasks))
        say(f"live {told.page}: {samples[-1]}")
    rate = (events.count - counted) / (time.time() - began)
    lags.sort()
    at = lambda share: lags[int(share * (len(lags) - 1))] if lags else None
    tell({"first": samples[0], "last": samples[-1], "samples": samples, "events": rate, "task": max(tasks[1:]),
          "lag_p50": at(0.5), "lag_p99": at(0.99)})


def sample(console: Console, deep, events: "Events", lags: list, tasks: list) -> dict:
    tasks.append(console.run("() => bench.task()"))
    for instance, painted in console.run("() => bench.shown()"):
        if happened := events.at.get(instance):
            lags.append(painted - happened)
    events.at.clear()
    deep.send("HeapProfiler.collectGarbage")
    heap = deep.send("Runtime.getHeapUsage")["usedSize"]
    metrics = {one["name"]: one["value"] for one in deep.send("Performance.getMetrics")["metrics"]}
    # Collecting garbage takes longer than any task of the page, and is ours.
    console.page.wait_for_timeout(300)
    console.run("() => bench.task()")
    return {"heap": heap / 1e6, "nodes": metrics["Nodes"], "listeners": metrics["JSEventListeners"]}


class Events(threading.Thread):
    """Follows the same events from outside, to know when each instance was made."""

    def __init__(self, told):
        super().__init__(daemon=True)
        self.count, self.at, self.outside = 0, {}, Outside(told)
        self.start()

    def run(self):
        self.outside.to.request("GET", "/api/v1/events", headers=self.outside.headers)
        for line in self.outside.to.getresponse():
            if not line.startswith(b"data:"):
                continue
            self.count += 1
            event = json.loads(line[5:])
            if event["kind"] == "instance_created":
                self.at[event["instance"]] = time.time() * 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["check", "lists", "typing", "live"])
    for name in ["--url", "--password-file", "--token-file", "--job"]:
        parser.add_argument(name)
    parser.add_argument("--page", choices=["instances", "dashboard"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=60)
    told = parser.parse_args()
    if reason := why_not():
        sys.exit(reason)
    if told.what == "check":
        return
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        {"lists": lists, "typing": typing, "live": live}[told.what](browser, told)
        browser.close()


if __name__ == "__main__":
    main()
