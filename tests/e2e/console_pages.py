"""Every page of the console, and an installation in which each of them has something to show."""

import dataclasses
import datetime
import pathlib
import re

from harness import PASSWORD, Duly, eventually
from xxl_door import Door

ROUTES = pathlib.Path(__file__).parents[2] / "console" / "src" / "routes"
OWN = "a password of my own"
ACME = {"Duly-Tenant": "acme"}


@dataclasses.dataclass(frozen=True)
class Page:
    """One address and whom it is shown to: `in` whoever is signed in, `out` nobody yet, `first` at a server that nobody set up."""

    name: str
    # As console/src/routes has it; none where it is not an address but what stands before or instead of one.
    route: str | None
    # With what `furnish` answers in braces.
    at: str
    to: str = "in"


PAGES = [
    Page("setup-without-link", None, "/setup", to="first"),
    Page("setup-needed", None, "/jobs", to="first"),
    Page("setup", "/setup", "/setup#{link}", to="first"),
    Page("setup-done", None, "/setup", to="out"),
    Page("sign-in", None, "", to="out"),
    Page("home", "/", ""),
    Page("dashboard", "/dashboard", "/dashboard"),
    Page("dashboard-week", "/dashboard", "/dashboard?span=week"),
    Page("instances", "/instances", "/instances"),
    Page("instances-filtered", "/instances", "/instances?state=failed,dead&job=backup-database"),
    Page("instances-none", "/instances", "/instances?state=forced"),
    Page("instances-no-job", "/instances", "/instances?job=nobody"),
    Page("instance-ended", "/instances/$id", "/instances/{ended}"),
    Page("instance-retried", "/instances/$id", "/instances/{dead}"),
    Page("instance-running", "/instances/$id", "/instances/{running}"),
    Page("instance-waiting", "/instances/$id", "/instances/{waiting}"),
    Page("instance-shares", "/instances/$id", "/instances/{shares}"),
    Page("instance-gone", None, "/instances/999999999"),
    Page("dead-letters", "/dead-letters", "/dead-letters"),
    Page("jobs", "/jobs", "/jobs"),
    Page("jobs-none", "/jobs", "/jobs?tenant=empty"),
    Page("job", "/jobs/$name", "/jobs/invoice-run"),
    Page("job-held", "/jobs/$name", "/jobs/quarterly-archive"),
    Page("job-gone", None, "/jobs/gone"),
    Page("new-job", "/new-job", "/new-job"),
    Page("new-job-yaml", "/new-job", "/new-job?view=yaml"),
    Page("edit", "/jobs/$name/edit", "/jobs/invoice-run/edit"),
    Page("edit-yaml", "/jobs/$name/edit", "/jobs/invoice-run/edit?view=yaml"),
    Page("versions", "/jobs/$name/versions", "/jobs/invoice-run/versions"),
    Page("script", "/jobs/$name/script", "/jobs/invoice-run/script"),
    Page("import", "/import-jobs", "/import-jobs"),
    Page("agents", "/agents", "/agents"),
    Page("agent", "/agents/$id", "/agents/{agent}"),
    Page("executor", "/agents/$id", "/agents/{executor}"),
    Page("xxl-tokens", "/xxl-tokens", "/xxl-tokens"),
    Page("pools", "/pools", "/pools"),
    Page("resources", "/resources", "/resources"),
    Page("servers", "/servers", "/servers"),
    Page("variables", "/variables", "/variables"),
    Page("secrets", "/secrets", "/secrets"),
    Page("people", "/people", "/people"),
    Page("person", "/people/$name", "/people/vera"),
    Page("person-may", "/people/$name", "/people/vera?may=job.run"),
    Page("groups", "/groups", "/groups"),
    Page("grants", "/grants", "/grants"),
    Page("roles", "/roles", "/roles"),
    Page("tenants", "/tenants", "/tenants"),
    Page("tenant", "/tenants/$name", "/tenants/acme"),
    Page("audit", "/audit", "/audit"),
    Page("audit-entry", "/audit/$seq", "/audit/{entry}"),
    Page("account", "/account", "/account"),
    Page("settings", "/settings", "/settings"),
    Page("about", "/about", "/about"),
    Page("nowhere", None, "/nowhere"),
]

# What these pages are asked to show is refused, and so they say.
REFUSED = r"status of 404.*/(jobs/gone|instances/999999999|instances\?.*job=nobody)"


def routes() -> set[str]:
    """Every address the console knows, read from its source."""
    return {path for file in ROUTES.glob("*.tsx") for path in re.findall(r'\bpath: "(/[^"]*)"', file.read_text())}


JOBS = """
job: invoice-run
folder: billing/nightly
owner: finance@example.com
labels: { team: billing, tier: gold }
description: |
  Makes the invoices of the day and hands them to the **ledger**.

  - ask *finance* before it is stopped
  - runs again without harm
cron: { expr: "0 30 2 * * ?", zone: Asia/Shanghai }
params: { region: east, day: yesterday }
overlap: { queue: 20 }
retry: { times: 2, delay: 30s, backoff: 2 }
timeout: 20m
not_finished_by: 1h
python: |
  import os

  region = os.environ["DULY_PARAM_REGION"]
  print(f"\\033[32mregion {region}\\033[0m: 1,284 invoices")
  for n in range(40):
      print(f"invoice 2026-{n:05} written, 3 positions, due in 14 days, sent to the customer's address by the usual way")
  print("::duly rows=1284")
---
job: ledger-export
folder: billing/nightly
owner: finance@example.com
labels: { team: billing }
after: invoice-run
sh: echo "exported"
---
job: dunning-letters
folder: billing
owner: finance@example.com
labels: { team: billing, channel: post }
cron: { expr: "0 0 9 ? * MON", zone: Europe/Berlin }
mode: paused
sh: echo "nobody is late"
---
job: sales-report-of-all-regions-for-the-management-board
folder: reports/daily
owner: sales@example.com
labels: { team: sales, audience: management, format: spreadsheet, retention: one-year }
description: One table for each region, one chart for all of them
cron: { expr: "0 15 6 ? * MON-FRI", zone: America/New_York }
sh: echo "report of $(date +%F)"
---
job: warehouse-sync
folder: stock
owner: warehouse
every: 1h
sh: echo "12 pallets moved"
---
job: backup-database
folder: operations
owner: operations
labels: { team: operations }
manual: true
retry: { times: 1, delay: 0s }
sh: |
  echo "connecting to the primary"
  echo "pg_dump: error: connection to server at \\"db-1.example.com\\" (10.20.30.40), port 5432 failed: Connection refused" >&2
  exit 1
---
job: rotate-logs
folder: operations
owner: operations
cron: "0 5 0 * * ?"
sh: echo "7 files rotated"
---
job: certificate-check
folder: operations
every: 6h
exit: { warning: [2] }
sh: 'echo "two certificates expire within 14 days" >&2; exit 2'
---
job: disk-cleanup
folder: operations
manual: true
pool: { route: broadcast }
sh: 'echo "share $DULY_SHARD_INDEX of $DULY_SHARD_TOTAL: 312 MB freed"'
---
job: train-forecast
folder: research
owner: research
labels: { team: research, gpu: "yes" }
manual: true
mutex: [forecast]
resources: { licence: 1 }
sh: 'for epoch in 1 2 3; do echo "epoch $epoch: loss 0.$((90 / epoch))"; done; sleep 3600'
---
job: train-small-forecast
folder: research
manual: true
mutex: [forecast]
resources: { licence: 1 }
sh: echo trained
---
job: image-build
folder: research
manual: true
pool: build
sh: make image
---
job: flaky-import
folder: stock
manual: true
retry: { times: 3, delay: 1h }
sh: 'echo "the supplier does not answer" >&2; exit 7'
---
job: quarterly-archive
folder: operations
cron: "0 0 4 1 1,4,7,10 ?"
mode: disabled
command: ["archive", "--quarter", "last"]
---
job: crm-import
folder: sales
owner: sales@example.com
every: 12h
pool: crm-importer
executor: { handler: importCustomers, params: "all" }
"""


def furnish(duly: Duly) -> dict:
    """Fills an installation as a few weeks of work would; answers what the addresses of pages name."""
    people(duly)
    values(duly)
    executor = machines(duly)
    duly.apply(JOBS.replace("retry: { times: 2, delay: 30s, backoff: 2 }", "retry: 1"))
    duly.apply(JOBS)
    known = work(duly)
    duly.api("PUT", "/pools/night", json={"limit": 5})
    changed = duly.api("GET", "/audit?operation=pool_put&about=night").json()["items"][0]["seq"]
    agents = {one["name"]: one["id"] for one in duly.api("GET", "/agents").json()["items"]}
    local = next(id for name, id in agents.items() if name not in ("build-02", executor))
    return {**known, "entry": changed, "agent": local, "executor": agents[executor]}


def people(duly: Duly):
    for tenant, quotas in [("acme", {"jobs": 200, "running": 20, "per_second": 50}), ("empty", {})]:
        make(duly, "POST", "/tenants", name=tenant, quotas=quotas)
    for name in ("vera", "otto", "grace", "a-colleague-with-a-rather-long-name"):
        make(duly, "POST", "/people", name=name, password=PASSWORD)
    make(duly, "POST", "/people", name="nightly-deploy", kind="service")
    duly.api("POST", "/people/grace/disable")
    make(duly, "POST", "/groups", name="operations")
    for name in ("otto", "vera"):
        make(duly, "PUT", f"/groups/operations/members/{name}")
    make(duly, "PUT", "/roles/starter", permissions=["job.see", "job.run", "instance.see", "log.see"])
    make(duly, "POST", "/grants", person="vera", role="viewer")
    make(duly, "POST", "/grants", group="operations", role="starter", folder="operations")
    make(duly, "POST", "/grants", person="otto", role="operator", labels={"team": "billing"})
    make(duly, "POST", "/tokens", name="dashboard of the hall", scope=["job.see", "instance.see"])
    token = duly.api("POST", "/sessions", token=None, json={"name": "vera", "password": PASSWORD}).json()["token"]
    assert duly.api("PUT", "/whoami/password", token=token, json={"old": PASSWORD, "new": OWN}).status_code == 204


def values(duly: Duly):
    make(duly, "PUT", "/variables/region", value="east")
    make(duly, "PUT", "/variables/table", value="invoices", folder="billing")
    make(duly, "PUT", "/variables/recipients", value=", ".join(f"person-{n}@example.com" for n in range(12)))
    make(duly, "PUT", "/secrets/db_password", value="swordfish-42")
    make(duly, "PUT", "/secrets/smtp_password", value="swordfish-43", folder="billing")
    make(duly, "PUT", "/resources/licence", units=2)
    make(duly, "PUT", "/pools/build", limit=4)
    make(duly, "PUT", "/pools/night", limit=3)


def machines(duly: Duly) -> str:
    """A second agent, and an executor that registered; its address."""
    token = make(duly, "POST", "/xxl-tokens", pool="crm-importer")["token"]
    address = "http://127.0.0.1:9/"
    told = {"registryGroup": "EXECUTOR", "registryKey": "crm-importer", "registryValue": address}
    assert Door(duly.url, token).api("registry", told).code == 200
    duly.join_agent("build-02", "--label", "disk=ssd")
    eventually(lambda: duly.online("build-02"), "the second agent is online")
    return address


def work(duly: Duly) -> dict:
    """Instances in every state, with planned times over the last day."""
    now = datetime.datetime.now(datetime.timezone.utc)
    usual = ["warehouse-sync", "rotate-logs", "invoice-run", "sales-report-of-all-regions-for-the-management-board"]
    planned = [(usual[hour % 4], {"planned_at": (now - datetime.timedelta(hours=hour, minutes=7)).isoformat()}) for hour in range(1, 24)]
    ended = [triggered(duly, job, **how) for job, how in planned]
    ended.append(triggered(duly, "certificate-check"))
    running, small = triggered(duly, "train-forecast"), None
    duly.wait_state(running, "running")
    small = triggered(duly, "train-small-forecast")
    waiting = triggered(duly, "image-build")
    retried, shares = triggered(duly, "flaky-import"), triggered(duly, "disk-cleanup")
    dead = [triggered(duly, "backup-database") for _ in range(3)]
    shown = triggered(duly, "invoice-run")
    stopped = triggered(duly, "train-small-forecast")
    duly.api("POST", f"/instances/{stopped}/stop")
    for instance in (*ended, *dead, shares, shown, stopped):
        duly.ended(instance)
    duly.wait_state(retried, "retry_wait")
    return {"ended": shown, "running": running, "waiting": waiting, "shares": shares, "dead": dead[0], "held": small}


def triggered(duly: Duly, job: str, **how) -> int:
    return make(duly, "POST", f"/jobs/{job}/trigger", **how)["id"]


def make(duly: Duly, method: str, path: str, **body) -> dict:
    answer = duly.api(method, path, json=body)
    assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
    return answer.json() if answer.content else {}
