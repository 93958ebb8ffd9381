"""Variables with their origin; secrets that reach their task and are found nowhere else."""

import base64
import os
import signal

from harness import ON_POSTGRES, alive, eventually, new_key
from postgres import dump

SECRET = "correct-horse-Battery%staple/42"


def contains(folder, text: str) -> list:
    """Every file below that holds the text."""
    wanted = text.encode()
    found = []
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            try:
                with open(path, "rb") as file:
                    if wanted in file.read():
                        found.append(path)
            except (FileNotFoundError, OSError):
                continue
    return found


def nowhere(duly):
    """Neither in the data directories of server and agent, the database among them, nor in any answer."""
    forms = [SECRET, base64.b64encode(SECRET.encode()).decode()[:36]]
    for form in forms:
        assert contains(duly.root, form) == []
    if ON_POSTGRES:
        kept = dump(duly.env["DULY_STORE"])
        assert "COPY duly.secret" in kept and not [form for form in forms if form in kept or form.encode().hex() in kept]
    pages = ["jobs", "instances", "variables", "secrets", "quarantine", "openapi.json"]
    pages += [f"instances/{i['id']}/{what}" for i in duly.instances() for what in ("log", "why", "attempts", "")]
    pages += [f"jobs/{job['name']}{what}" for job in duly.json("job", "list")["items"]
              for what in ("", "/versions", "/export", "/variables", "/why")]
    for page in pages:
        answer = duly.api("GET", f"/{page}".rstrip("/"))
        for form in forms:
            assert form not in answer.text, page


def keep(duly, name, *more):
    done = duly.run("secret", "set", name, *more, stdin=SECRET + "\n")
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr


def log(duly, instance) -> str:
    return duly.run("log", instance, check=True).stdout


def test_a_secret_reaches_its_task_and_is_read_nowhere(shared):
    keep(shared, "told")
    # The script itself must not hold the secret, or it would be found in the job.
    instance = shared.apply_and_trigger("tells", """secrets: { PASSWORD: told }
sh: |
  test ${#PASSWORD} = 31 || exit 9
  printf 'in two: %.17s' "$PASSWORD"; sleep 0.1; echo "${PASSWORD#?????????????????}."
  printf '%s' "$PASSWORD" | base64
  printf 'x%s' "$PASSWORD" | base64 >&2
  echo "$PASSWORD" | sed 's/%/%25/; s#/#%2F#'
  echo "::duly got=$PASSWORD"
  echo "::duly-message it is $PASSWORD"
""")
    seen = shared.ended(instance)
    assert seen["state"] == "succeeded", seen
    assert (seen["outputs"], seen["message"]) == ({"got": "***"}, "it is ***")
    lines = log(shared, instance).splitlines()
    assert "in two: ***." in lines and lines.count("***") >= 2, lines
    listed = shared.json("secret", "list")["items"]
    told = next(secret for secret in listed if secret["name"] == "told")
    assert (told["version"], told["used_by"]) == (1, ["tells"])
    nowhere(shared)


def test_an_agent_may_die_while_such_a_task_runs(shared, tmp_path):
    keep(shared, "kept")
    gate = tmp_path / "gate"
    instance = shared.apply_and_trigger("outlives_with_secret", f"""secrets: {{ PASSWORD: kept }}
sh: |
  echo "begun $PASSWORD"
  while [ ! -e {gate} ]; do sleep 0.1; done
  echo "ended $PASSWORD"
""")
    eventually(lambda: "begun ***" in log(shared, instance), "it runs")
    nowhere(shared)
    before = shared.agent_pid()
    os.kill(before, signal.SIGKILL)
    eventually(lambda: not alive(before) and shared.agent_pid(), "another agent was started")
    eventually(shared.agent_online, "it is online")
    gate.touch()
    seen = shared.ended(instance)
    assert (seen["state"], seen["attempt_no"]) == ("succeeded", 1), seen
    eventually(lambda: "ended ***" in log(shared, instance), "its output is there")
    nowhere(shared)


def new_master_key(duly) -> dict:
    """What rotating says. With an embedded store the server makes the new key itself; several servers are given it, beside the
    old one as long as that is needed."""
    if not ON_POSTGRES:
        rotated = duly.json("secret", "rotate-key")
        file = duly.data / "secret.key"
        assert file.stat().st_mode & 0o777 == 0o600
        assert len([line for line in file.read_text().splitlines() if not line.startswith("#")]) == 1
        return rotated
    assert "E0960" in duly.run("secret", "rotate-key").stderr, "no new key was given"
    new, old = new_key(), duly.env["DULY_SECRET_KEY"]
    duly.env["DULY_SECRET_KEY"] = f"{new},{old}"
    duly.restart()
    rotated = duly.json("secret", "rotate-key")
    duly.env["DULY_SECRET_KEY"] = new
    duly.restart()
    assert not (duly.data / "secret.key").exists(), "a key that was given is written nowhere"
    return rotated


def test_a_new_key_changes_no_value_and_a_start_ends_what_was_begun(shared):
    keep(shared, "moved")
    keep(shared, "moved")
    body = "secrets: { PASSWORD: moved }\nsh: test ${#PASSWORD} = 31\n"
    before = {s["name"]: s["key"] for s in shared.json("secret", "list")["items"]}
    rotated = new_master_key(shared)
    assert rotated["moved"] == len(before) and rotated["key"] not in before.values()
    keys = {s["key"] for s in shared.json("secret", "list")["items"]}
    assert keys == {rotated["key"]}
    assert shared.ended(shared.apply_and_trigger("moves", body))["state"] == "succeeded"
    assert shared.run("secret", "delete", "moved").returncode == 0
    seen = shared.ended(shared.trigger("moves"))
    assert seen["state"] == "failed" and "duly secret set moved" in seen["message"], seen


def test_what_cannot_be_kept_or_used_is_refused(shared, tmp_path):
    short = shared.run("secret", "set", "short", stdin="abc\n")
    assert short.returncode != 0 and "E0957" in short.stderr and "abc" not in short.stderr
    keep(shared, "of_billing", "--folder", "billing")
    faults = [
        ("job: a\nsecrets: { P: of_billing }\nsh: 'true'\n", "E0954"),
        ("job: a\nsecrets: { P: nobody }\nsh: 'true'\n", "E0954"),
        ("job: a\nenv: { P: '${secret.told}' }\nsh: 'true'\n", "E0953"),
        ("job: a\nenv: { P: '${nobody}' }\nsh: 'true'\n", "E0951"),
        ("job: a\nenv: { P: '${open' }\nsh: 'true'\n", "E0952"),
        ("job: a\nexecutor: h\npool: p\nsecrets: { P: of_billing }\n", "E0210"),
    ]
    for text, code in faults:
        file = tmp_path / "job.yaml"
        file.write_text(text)
        refused = shared.run("job", "apply", "--yes", "-f", file)
        assert refused.returncode != 0 and code in refused.stderr + refused.stdout, (text, refused.stderr)
    shared.apply("job: bills\nfolder: billing/nightly\nsecrets: { P: of_billing }\nsh: 'true'\n")


def test_the_nearest_variable_counts_and_says_where_it_is_set(shared):
    for args in (["zone", "world", "--platform"], ["zone", "tenant"], ["zone", "billing", "--folder", "billing"],
                 ["rate", "7", "--platform"], ["other", "9"]):
        assert shared.run("variable", "set", *args).returncode == 0
    body = """job: {name}
folder: {folder}
variables: {{ own: mine }}
env: {{ ZONE: "${{zone}}", RATE: "${{rate}}", PLAIN: "$${{zone}}" }}
command: [sh, -c, 'echo "$ZONE $RATE $PLAIN $1 $2 $DULY_PARAM_P"', x, "--own=${{own}}", "${{late}}"]
params: {{ p: "${{zone}}!" }}
"""
    shared.apply(body.format(name="near", folder="billing/deep"))
    shared.apply(body.format(name="far", folder="sales"))
    run = shared.trigger("near", "--param", "late=given", "--param", "own=theirs")
    shared.ended(run)
    assert log(shared, run).strip() == "billing 7 ${zone} --own=mine given billing!"
    run = shared.trigger("far", "--param", "late=given")
    shared.ended(run)
    assert log(shared, run).strip() == "tenant 7 ${zone} --own=mine given tenant!"
    origin = {v["name"]: (v["value"], v["level"], v["folder"], v["used"])
              for v in shared.json("variable", "effective", "near")["items"]}
    assert origin["zone"] == ("billing", "folder", "billing", True)
    assert origin["rate"] == ("7", "platform", None, True)
    assert origin["own"] == ("mine", "job", None, True)
    assert origin["other"] == ("9", "tenant", None, False)
    assert shared.run("variable", "delete", "rate", "--platform").returncode == 0
    seen = shared.ended(shared.trigger("far"))
    assert seen["state"] == "failed" and "the variable rate is not set" in seen["message"], seen
