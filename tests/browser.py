"""A real browser to open reports in."""

import os
import shutil
from pathlib import Path

import pytest

CONTRAST = """() => {
    const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
    const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
    const poor = [];
    for (const element of document.querySelectorAll("body *")) {
        const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
        if (!text || !element.getClientRects().length || element.closest("script, noscript, canvas, .skip")) continue;
        let ground = element, back = [0, 0, 0, 0];
        while (ground) {
            back = parse(getComputedStyle(ground).backgroundColor);
            if (back.length < 4 || back[3] > 0) break;
            ground = ground.parentElement;
        }
        const style = getComputedStyle(element), ink = parse(element instanceof SVGElement ? style.fill : style.color);
        const [a, b] = [light(ink), light(back)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5) poor.push([element.tagName, element.textContent.slice(0, 30), ratio]);
    }
    return poor;
}"""
"""Finds text whose contrast to what lies below it is less than 4.5."""


def chromium():
    """Return the path of a Chromium, or nothing."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("QGCN_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def browser():
    path = chromium()
    if path is None:
        if os.environ.get("QGCN_BROWSER") == "required":
            pytest.fail("no Chromium found, but QGCN_BROWSER=required asks for one")
        pytest.skip("no Chromium found: the report is not tested in a browser (apt-get install chromium)")
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'qgcn[dev]'")
    software = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
    quiet = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"]
    with sync.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=[*quiet, *software])
        yield running
        running.close()


@pytest.fixture
def show(browser, tmp_path):
    """Open a report; at the end nothing may have been logged, and nothing asked of the network."""
    told, asked, contexts = [], [], []

    def open_page(text, *, width=1280, height=900, theme="light"):
        path = tmp_path / f"report-{len(contexts)}.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert told == []
    assert [url for url in asked if not url.startswith(("file://", "data:"))] == []
    assert len([url for url in asked if url.startswith("file://")]) == len(contexts)


@pytest.fixture
def keep(tmp_path):
    """Keep a screenshot where $QGCN_ARTIFACTS says, for eyes to look at."""
    folder = Path(os.environ.get("QGCN_ARTIFACTS", tmp_path)) / "screenshots"

    def shoot(page, name):
        folder.mkdir(parents=True, exist_ok=True)
        page.wait_for_timeout(150)  # two frames
        page.screenshot(path=folder / f"{name}.png", full_page=True)

    return shoot
