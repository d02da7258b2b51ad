"""Measure how a report behaves in a real browser: its size, how long it takes to open, how fast it turns and answers.

    python benchmarks/report.py REPORT.html... [--chromium /usr/bin/chromium]

Rendering is by software (SwiftShader): a GPU is faster. Milliseconds: "open" from the start of navigation until the page has
drawn everything; "sphere", "bowl" and "disk" the mean over 60 frames in which the view is dragged, each waited for until it is
drawn; "script" the part of a frame that is not the graphics', in the slowest view; "click" the time to find a node's neighbours
among all others and to show them.
"""

import argparse
import shutil
import statistics
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.table import Table

FRAMES = """async (view) => {
    const {explorer} = window.qgcn, gl = explorer.stage.gl, whole = [], script = [], pixel = new Uint8Array(4);
    const mean = (values) => values.reduce((a, b) => a + b) / values.length;
    explorer.view(view);
    for (let k = 0; k < 62; k++) {
        await new Promise(requestAnimationFrame);
        const began = performance.now();
        explorer.stage.drag(3, 1);
        explorer.stage.drawNow();
        const told = performance.now();
        gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);  // waits until all is drawn
        if (k > 1) { whole.push(performance.now() - began); script.push(told - began); }
    }
    return [mean(whole), mean(script)];
}"""
CLICK = "() => { const began = performance.now(); window.qgcn.explorer.select(7); return performance.now() - began; }"
OPEN = "() => performance.getEntriesByName('ready')[0].startTime"
MARK = """new MutationObserver((_, self) => {
    if (document.documentElement && document.documentElement.dataset.ready) {
        self.disconnect();
        requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('ready')));
    }
}).observe(document, {attributes: true, childList: true, subtree: true})"""


def main() -> None:
    """Measure each report and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="+", type=Path)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    given = parser.parse_args()
    table = Table(header_style="bold")
    for name in ("report", "nodes", "MB", "open", "sphere", "bowl", "disk", "script", "click"):
        table.add_column(name, justify="left" if name == "report" else "right")
    gl = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=given.chromium, args=["--no-sandbox", *gl])
        for path in given.reports:
            opened = []
            for _ in range(3):
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.add_init_script(MARK)
                page.goto(path.resolve().as_uri())
                page.wait_for_function("performance.getEntriesByName('ready').length > 0")
                opened.append(page.evaluate(OPEN))
            frames = [page.evaluate(FRAMES, view) for view in ("sphere", "hyperboloid", "disk")]
            click = statistics.median(page.evaluate(CLICK) for _ in range(5))
            nodes = page.evaluate("window.qgcn.explorer.graph.count")
            size = path.stat().st_size / 1e6
            times = (statistics.median(opened), *(whole for whole, _ in frames), max(script for _, script in frames), click)
            shown = [f"{value:.0f}" if value >= 10 else f"{value:.1f}" for value in times]
            table.add_row(path.name, f"{nodes:,}", f"{size:.1f}", *shown)
        browser.close()
    Console().print(table)
    print("milliseconds")


if __name__ == "__main__":
    main()
