"""What executors say to an XXL-JOB admin, byte for byte as each SDK says it: registration, leave, results.

Every call made through here also asserts what holds for all of them: HTTP 200, a JSON kind, a bare integer as code.
"""

import http.client
import json
import urllib.parse

TOKEN_HEADER = "XXL-JOB-ACCESS-TOKEN"
OLD_TOKEN_HEADER = "XXL-RPC-ACCESS-TOKEN"
APP_HEADER = "XXL-JOB-APPNAME"
JSON_KIND = "application/json;charset=UTF-8"

WELL = 200
FAIL = 500
TIMEOUT = 502


class Answer:
    """What the admin answered."""

    def __init__(self, status: int, kind: str, body: bytes):
        self.status, self.kind, self.body = status, kind, body
        told = json.loads(body)
        self.code, self.msg, self.told = told["code"], told["msg"], told

    def __repr__(self):
        return f"<HTTP {self.status} {self.body.decode(errors='replace')[:300]}>"


class Door:
    """The admin as one executor sees it: where it is and which token it was given."""

    def __init__(self, url: str, token: str | None, prefix: str = "/xxl-job-admin", headers: dict | None = None):
        where = urllib.parse.urlsplit(url)
        self.host, self.port = where.hostname, where.port
        self.token, self.prefix, self.headers = token, prefix, headers or {}

    def call(self, path: str, body, method: str = "POST", headers: dict | None = None, kind: str | None = JSON_KIND) -> Answer:
        """Path and headers go out as written; `headers` replaces the token header too, `kind` None sends no Content-Type."""
        if headers is None:
            headers = {TOKEN_HEADER: self.token} if self.token is not None else {}
        raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        link = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            link.putrequest(method, path, skip_accept_encoding=True)
            for name, value in {**headers, **self.headers}.items():
                link.putheader(name, value)
            if kind is not None:
                link.putheader("Content-Type", kind)
            link.putheader("Content-Length", str(len(raw)))
            link.endheaders(raw)
            got = link.getresponse()
            answer = Answer(got.status, got.headers.get("Content-Type", ""), got.read())
        finally:
            link.close()
        assert answer.status == 200, f"some SDKs die of any other status: {answer}"
        assert answer.kind.replace(" ", "").lower() == JSON_KIND.lower(), f"one SDK reads nothing else: {answer.kind}"
        assert type(answer.code) is int and {"code", "msg", "content", "data"} <= answer.told.keys(), answer
        return answer

    def api(self, call: str, body, **more) -> Answer:
        return self.call(f"{self.prefix}/api/{call}", body, **more)

    def register(self, app: str, address: str, group: str = "EXECUTOR", **more) -> Answer:
        return self.api("registry", {"registryGroup": group, "registryKey": app, "registryValue": address}, **more)

    def remove(self, app: str, address: str, **more) -> Answer:
        return self.api("registryRemove", {"registryGroup": "EXECUTOR", "registryKey": app, "registryValue": address}, **more)

    def callback(self, body, **more) -> Answer:
        return self.api("callback", body, **more)


# ---- results, in every shape they come in; each takes the run as it was ordered


def handled(run: dict, code, text) -> dict:
    """Java 2.3 to 3.4, hyperjiang, Node."""
    return {"logId": run["logId"], "logDateTim": run["logDateTime"], "handleCode": code, "handleMsg": text}


def executed(run: dict, code, text) -> dict:
    """Java 2.1.1 to 2.2."""
    return {"logId": run["logId"], "logDateTim": run["logDateTime"], "executeResult": {"code": code, "msg": text, "content": None}}


def executed_content(run: dict, code, text) -> dict:
    """feixiaobo's Go client: the words are in the content."""
    return {"logId": run["logId"], "logDateTim": run["logDateTime"], "executeResult": {"code": code, "msg": "", "content": text}}


def both(run: dict, code, text) -> dict:
    """executor-go, pyxxl, DotXxlJob, hyperf."""
    return {**executed(run, code, text), **handled(run, code, text)}


def as_texts(run: dict, code, text) -> dict:
    """Numbers as text, as languages without 64-bit integers send them."""
    return {"logId": str(run["logId"]), "logDateTim": str(run["logDateTime"]), "handleCode": str(code), "handleMsg": text}


def listed_item(run: dict, code, text) -> dict:
    """An item of 3.5: the time's name has found its last letter."""
    return {"logId": run["logId"], "logDateTime": run["logDateTime"], "handleCode": code, "handleMsg": text}


def listed(*items: dict) -> dict:
    """The body of 3.5: an object around the list."""
    return {"callbackList": list(items)}


DIALECTS = {
    "handle_code": lambda run, code, text: [handled(run, code, text)],
    "execute_result": lambda run, code, text: [executed(run, code, text)],
    "content_only": lambda run, code, text: [executed_content(run, code, text)],
    "both": lambda run, code, text: [both(run, code, text)],
    "callback_list": lambda run, code, text: listed(listed_item(run, code, text)),
    "numbers_as_text": lambda run, code, text: [as_texts(run, code, text)],
    "one_object": handled,
}
