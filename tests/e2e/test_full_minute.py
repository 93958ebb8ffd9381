"""A full minute of the README's two-line job, left alone while the other tests run beside it."""

from harness import eventually, seconds

FULL = 61


def test_a_minute_of_ticks_has_no_gap_and_no_double(ticking):
    def a_minute():
        ended = [i for i in ticking.instances("tick") if i["ended_at"]]
        return ended if len(ended) >= FULL else None
    ran = eventually(a_minute, "a minute of ticks has ended", within=120, every=1)
    ran.reverse()
    planned = [seconds(i["planned_at"]) for i in ran]
    assert planned == list(range(planned[0], planned[0] + len(planned))), "each second, once"
    assert {(i["state"], i["cause"]["kind"], i["attempt_no"]) for i in ran} == {("succeeded", "planned", 1)}
    logs = {ticking.api("GET", f"/instances/{i['id']}/log").text for i in ran}
    assert logs == {"hello\n"}, "and each said it once"
    verified = ticking.json("verify")
    assert verified["ok"] and verified["times"] == verified["fired"] >= FULL, verified
