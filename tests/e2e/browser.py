"""A real browser for the tests of the console: Debian's Chromium, one for all tests, a fresh profile for each.

A page that says anything wrong on its console, or throws, fails its test, whatever else the test looks at.
"""

import json
import pathlib
import re
import shutil

import pytest

from cluster import NOT_TESTED
from harness import eventually

CONSOLE = pathlib.Path(__file__).parents[2] / "console"
AXE = CONSOLE / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 800}
# A word between areas and dots that nobody translated looks like this: `monitor:instances.empty`, `home.title`.
KEY = re.compile(r"\b(?:shell|parts|entry|monitor|designer|editor|admin)[:.][a-z_]+(?:\.[a-z_]+)*\b|\{\{\w+\}\}")


def why_not() -> str | None:
    if not CHROMIUM:
        return "there is no Chromium"
    if not (CONSOLE / "dist" / "index.html").exists():
        return "the console was not built: make console"
    return None


@pytest.fixture(scope="session")
def chromium():
    if reason := why_not():
        NOT_TESTED.append(f"the console: {reason}")
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield one
        one.close()


@pytest.fixture
def open_page(chromium):
    """Opens pages with profiles of their own. What they say wrong and was not expected fails the test at its end."""
    contexts, wrong = [], []

    def make(size=WIDE, expected: str | None = None, **more):
        context = chromium.new_context(viewport=size, locale=more.pop("locale", "en-US"), **more)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.under_way = watch(page)

        def note(text: str):
            if not (expected and re.search(expected, text)):
                wrong.append(text)
        page.on("console", lambda said: said.type in ("error", "warning") and note(f"{said.type}: {said.text} ({said.location.get('url')})"))
        page.on("pageerror", lambda error: note(f"thrown: {error}"))
        return page
    yield make
    for context in contexts:
        context.close()
    assert not wrong, "\n".join(wrong)


def sign_in(page, duly, name: str = "ada", password: str = "correct horse battery", path: str = "/ui"):
    """By the form, at the address somebody wants to go to."""
    page.goto(duly.url + path)
    page.locator("input[name=name]").fill(name)
    page.locator("input[name=password]").fill(password)
    page.locator("button[type=submit]").click()
    page.locator("header.topbar").wait_for()
    return page


def save(page):
    """What is being edited, once the server has looked at it."""
    button = page.get_by_role("button", name="Save", exact=True)
    eventually(button.is_enabled, "the draft is checked and can be saved", within=15)
    button.click()


def watch(page) -> set:
    """What the page has asked for and was not answered yet, but for streams, which end when something does."""
    under_way = set()

    def begun(request):
        if "/api/" in request.url and not re.search(r"/events|/log\?follow", request.url):
            under_way.add(request)
    page.on("request", begun)
    for over in ("requestfinished", "requestfailed"):
        page.on(over, lambda request: under_way.discard(request))
    return under_way


def settled(page):
    """Everything it asked for is there and drawn, and what that led to as well."""
    page.locator("main :is(h1, .empty, .problem)").first.wait_for()
    # Not by a function of ours: the page's policy forbids what playwright does to ask it again.
    eventually(lambda: is_quiet(page) and drawn(page) and is_quiet(page), "nothing is being loaded any more")


def is_quiet(page) -> bool:
    return page.locator(".loading, [aria-busy=true]").count() == 0 and not page.under_way


def drawn(page) -> bool:
    """Two pictures later: what was known before is in the second."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
    return True


def prefer(page, **what):
    """As somebody who chose this before."""
    page.add_init_script(f"localStorage.setItem('duly-preferences', {json.dumps(json.dumps(what))})")


def untranslated(page) -> list[str]:
    said = page.evaluate("""() => [document.title, document.body.innerText,
        ...[...document.querySelectorAll('[title],[aria-label],[placeholder]')].flatMap((one) =>
            ['title', 'aria-label', 'placeholder'].map((name) => one.getAttribute(name) ?? ''))].join('\\n')""")
    return KEY.findall(said)


def findings(page) -> list[str]:
    """What axe finds that keeps somebody out."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")["violations"]
    told = lambda one: f"{one['id']}: {one['help']}: {[node['html'][:200] for node in one['nodes'][:3]]}"
    return [told(one) for one in found if one["impact"] in ("serious", "critical")]


def overflows(page) -> bool:
    """Whether a page is wider than the window: something is cut off on a phone."""
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def cut_off(page) -> list[str]:
    """Words that somebody has no way to read: hidden behind an edge that does not scroll, and not told on hover either."""
    return page.evaluate("""() => {
        const measure = document.createElement('canvas').getContext('2d')
        const told = (one) => `${one.tagName.toLowerCase()}.${one.className}: ${(one.innerText || one.value || one.placeholder || '').slice(0, 60)}`
        const isHidden = (one, style) => !one.checkVisibility() || one.clientWidth <= 1 || style.clipPath !== 'none' || one.closest('.unseen, .cm-editor, thead')
        const clips = (one, style) => /hidden|clip/.test(style.overflowX) && one.scrollWidth > one.clientWidth + 1
            || /hidden|clip/.test(style.overflowY) && one.scrollHeight > one.clientHeight + 1
        const isTold = (one) => (one.closest('[title]')?.title ?? '').includes(one.innerText.trim())
        const tooLong = (one, style) => {
            const text = one.tagName === 'SELECT' ? one.selectedOptions[0]?.text : one.type === 'password' ? one.placeholder : one.value || one.placeholder
            measure.font = style.font
            const room = one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - (one.tagName === 'SELECT' ? 12 : 0)
            return measure.measureText(text ?? '').width > room + 1 && !one.title.includes(text)
        }
        return [...document.querySelectorAll('body *')].filter((one) => {
            const style = getComputedStyle(one)
            if (isHidden(one, style)) return false
            if (one.matches('select, input:not([type=checkbox], [type=radio], [type=file], [type=datetime-local])')) return tooLong(one, style)
            return one instanceof HTMLElement && !one.matches('input, textarea') && one.innerText.trim() && clips(one, style) && !isTold(one)
        }).map(told)
    }""")


def overlaps(page) -> list[str]:
    """Pairs of words, or of what one can press, that lie over each other."""
    return page.evaluate("""() => {
        const PRESSED = 'button, a, input, select, textarea, summary'
        const inside = (rect, one) => {
            let { left, right, top, bottom } = rect
            for (let up = one; up && up !== document.body; up = up.parentElement) {
                const style = getComputedStyle(up)
                if (style.clipPath !== 'none') return undefined
                if (style.overflowX === 'visible' && style.overflowY === 'visible') continue
                const edge = up.getBoundingClientRect()
                left = Math.max(left, edge.left), right = Math.min(right, edge.right)
                top = Math.max(top, edge.top), bottom = Math.min(bottom, edge.bottom)
            }
            return right - left > 1 && bottom - top > 1 && bottom > 0 ? { left, right, top, bottom } : undefined
        }
        const seen = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !one.closest('.cm-editor, .said')
        const pieces = []
        const put = (one, rect, words) => {
            const shown = inside(rect, one)
            if (shown) pieces.push({ one, words, ...shown })
        }
        for (const one of document.querySelectorAll(PRESSED)) if (seen(one)) for (const rect of one.getClientRects()) put(one, rect, one.tagName.toLowerCase())
        const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
        const range = document.createRange()
        for (let text = walk.nextNode(); text; text = walk.nextNode()) {
            if (!text.data.trim() || !seen(text.parentElement) || text.parentElement.closest('option, script, style')) continue
            range.selectNodeContents(text)
            // A font claims more above and below than its letters use.
            for (const { left, right, top, bottom } of range.getClientRects()) {
                const air = (bottom - top) * 0.22
                put(text.parentElement, { left, right, top: top + air, bottom: bottom - air }, 'words')
            }
        }
        const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5
        const related = (a, b) => a.one.contains(b.one) || b.one.contains(a.one)
        const told = ({ one, words }) => `${words} ${(one.innerText || one.ariaLabel || one.name || one.className || '').trim().slice(0, 40)}`
        const found = new Set()
        pieces.sort((a, b) => a.top - b.top)
        pieces.forEach((a, at) => {
            for (let next = at + 1; next < pieces.length && pieces[next].top < a.bottom; next++) {
                const b = pieces[next]
                if (over(a, b) && !related(a, b)) found.add(`${told(a)} / ${told(b)}`)
            }
        })
        return [...found]
    }""")
