"""Every page of the console in both languages, both themes and two widths: whole words, in their place, for everybody.

With DULY_SCREENSHOTS=DIR each is also written there as a picture, to be looked at; with DULY_PICTURES=1 those of docs/console.md
are made anew.
"""

import os
import pathlib
import re

import pytest

from browser import NARROW, WIDE, cut_off, drawn, findings, overflows, overlaps, prefer, settled, sign_in, untranslated
from console_pages import PAGES, REFUSED, furnish, routes
from harness import Duly, eventually

SCREENSHOTS = os.environ.get("DULY_SCREENSHOTS")
PICTURES = pathlib.Path(__file__).parents[2] / "docs" / "pictures"
PICTURE_BYTES = 150_000
# Of the tour: its name, the page, and how it is looked at if not in English, light and wide.
TOUR = [
    ("home", "home", {}),
    ("dashboard", "dashboard", {}),
    ("dashboard-dark", "dashboard", {"theme": "dark"}),
    # A long list says no more than a short one.
    ("instances", "instances", {"size": {**WIDE, "height": 600}}),
    ("instance", "instance-ended", {}),
    ("jobs", "jobs", {}),
    ("jobs-chinese", "jobs", {"language": "zh"}),
    ("editor", "edit", {}),
    ("versions", "versions", {}),
    ("agents", "agents", {}),
    ("person", "person-may", {}),
    ("audit", "audit-entry", {}),
    ("instance-narrow", "instance-ended", {"size": NARROW}),
]


@pytest.fixture(scope="module")
def furnished(shared):
    return furnish(shared)


@pytest.fixture(scope="module")
def unclaimed(tmp_path_factory):
    """A server that nobody has set up, and the secret end of the link it printed."""
    one = Duly(tmp_path_factory.mktemp("unclaimed")).up(wait=False)
    try:
        eventually(lambda: "/ui/setup#" in one.log_tail(100), "it prints a link", within=60)
        yield one, re.search(r"/ui/setup#(\S+)", one.log_tail(100)).group(1)
    finally:
        one.stop()


def test_no_address_is_left_out():
    assert {page.route for page in PAGES if page.route} == routes()


def test_what_is_cut_off_or_lies_over_something_is_seen(open_page):
    page = open_page()
    page.set_content("""<style>p { width: 60px; overflow: hidden; white-space: nowrap } b { position: absolute; left: 0; top: 300px }</style>
        <p>cut in the middle of it</p> <p title="told on hover">told on hover</p> <p>whole</p>
        <input value="longer than there is room for" size="3"> <button>alone</button> <b>over</b> <b>each other</b>""")
    assert [one.split(": ")[1] for one in cut_off(page)] == ["cut in the middle of it", "longer than there is room for"]
    assert overlaps(page) == ["words over / words each other"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_is_whole(shared, furnished, unclaimed, open_page, language, theme):
    first, link = unclaimed
    locale = {"en": "en-US", "zh": "zh-CN"}[language]
    inside, outside = open_page(expected=REFUSED, locale=locale), open_page(locale=locale)
    for page in (inside, outside):
        prefer(page, language=language, theme=theme)
    sign_in(inside, shared)
    places = {"in": (inside, shared), "out": (outside, shared), "first": (outside, first)}
    faults = []
    for one in PAGES:
        page, duly = places[one.to]
        page.set_viewport_size(WIDE)
        page.goto(f"{duly.url}/ui{one.at.format(link=link, **furnished)}")
        settled(page)
        faults += [f"{one.name}: {fault}" for fault in wrong(page, f"{one.name}.{language}.{theme}")]
    assert not faults, "\n".join(faults)


@pytest.mark.skipif(not os.environ.get("DULY_PICTURES"), reason="pictures are made when they are asked for")
def test_the_pictures_of_the_tour(shared, furnished, open_page):
    PICTURES.mkdir(exist_ok=True)
    pages = {page.name: page for page in PAGES}
    for name, of, how in TOUR:
        page = open_page(how.get("size", WIDE), locale="zh-CN" if how.get("language") == "zh" else "en-US")
        prefer(page, language=how.get("language", "en"), theme=how.get("theme", "light"))
        sign_in(page, shared, path="/ui" + pages[of].at.format(**furnished))
        settled(page)
        page.screenshot(path=PICTURES / f"{name}.png")
        assert (PICTURES / f"{name}.png").stat().st_size < PICTURE_BYTES, name


def wrong(page, name: str) -> list[str]:
    """All that is wrong with a page as it stands, and at the width of a phone."""
    found = [f"not translated: {key}" for key in untranslated(page)] + [f"axe: {one}" for one in findings(page)]
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        drawn(page)
        picture(page, f"{name}.{size['width']}")
        faults = [f"cut off: {one}" for one in cut_off(page)] + [f"over each other: {one}" for one in overlaps(page)]
        faults += ["wider than the window"] if overflows(page) else []
        found += [f"{size['width']} px: {fault}" for fault in faults]
    return found


def picture(page, name: str):
    if SCREENSHOTS:
        page.screenshot(path=pathlib.Path(SCREENSHOTS) / f"{name}.png", full_page=True)
