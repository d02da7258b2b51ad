"""Edges that matter for a node, in a real browser: listed with their importance, and drawn."""

import numpy as np
import pytest

from browser import CONTRAST
from qgcn.answer import Answer
from qgcn.viz.report import render
from qgcn.viz.report.payload import payload_of
from reports import HOSTILE, subject_of

SHARES = [0.91, 0.5, 0.04]


DRAWN = """() => {
    const over = document.querySelector(".stage .over"), copy = document.createElement("canvas");
    [copy.width, copy.height] = [over.width, over.height];
    const context = copy.getContext("2d", { willReadFrequently: true }), wanted = rgb(qgcn.explorer.ink.why);
    context.drawImage(over, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    let count = 0;
    for (let k = 0; k < data.length; k += 4)
        if (data[k + 3] > 100 && wanted.every((value, n) => Math.abs(data[k + n] - value) < 12)) count++;
    return count;
}"""
"""Counts the pixels of edges that matter."""


def edges_of(*ends):
    """Edges between named nodes, the first one most important."""
    source, target = np.array(ends, dtype=str).reshape(-1, 2).T
    return Answer({"source": source, "target": target, "importance": np.array(SHARES[: len(ends)])})


WHY = edges_of(("node 20", "node 21"), ("node 21", "node 22"), ("node 9", "node 20"))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", ["disk", "sphere", "exact"])
def test_a_node_that_was_explained_shows_its_edges(show, keep, theme, view):
    page = show(render([subject_of(explained={"node 20": WHY})]), theme=theme)
    page.click(f"#tab-{view}")
    page.evaluate("qgcn.explorer.select(20, true)")
    assert page.locator(".inspector h4").first.inner_text() == "Edges that matter most"
    rows = page.locator("#explained tbody tr")
    assert [rows.nth(k).locator("td").all_inner_texts() for k in range(3)] == [
        ["node 20", "node 21", "", "0.91"],
        ["node 21", "node 22", "", "0.50"],
        ["node 9", "node 20", "", "0.04"],
    ]
    bars = page.locator("#explained .bar").evaluate_all("all => all.map((bar) => bar.firstChild.style.width)")
    assert bars == ["91%", "50%", "4%"]
    assert page.evaluate(CONTRAST) == []
    keep(page, f"explained-{view}-{theme}")
    assert page.evaluate(DRAWN) > 50
    page.select_option("#edges", "none")
    page.wait_for_timeout(150)
    assert page.evaluate(DRAWN) == 0
    rows.nth(1).get_by_role("button", name="node 22").click()
    assert page.evaluate("qgcn.explorer.selected") == 22
    assert page.locator("#explained").count() == 0


def test_nodes_that_were_explained_are_offered(show):
    page = show(render([subject_of(explained={"node 7": edges_of(), "node 20": WHY})]))
    assert page.locator("#explained-nodes li").all_inner_texts() == ["node 7", "node 20"]
    page.locator("#explained-nodes").get_by_role("button", name="node 7").click()
    assert page.locator(".inspector h3").inner_text() == "node 7"
    assert "No edge matters for it." in page.locator(".inspector").inner_text()
    page = show(render([subject_of()]))
    assert page.locator(".inspector .why").count() == 0


def test_hostile_names_of_edges_are_text(show, keep):
    why = edges_of(*zip(HOSTILE[::2], HOSTILE[1::2], strict=False))
    page = show(
        render([subject_of(names=HOSTILE, explained={HOSTILE[0]: why, HOSTILE[-1]: edges_of()})]), width=400, height=740
    )
    assert page.locator("#explained-nodes li").count() == 2
    page.evaluate("qgcn.explorer.select(0)")
    assert page.locator("#explained tbody tr").count() == 3
    assert page.evaluate("window.hacked === undefined")
    assert page.locator("#report script, #report img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    chosen = "(row) => { row.querySelector('button').click(); return qgcn.explorer.graph.names[qgcn.explorer.selected]; }"
    assert page.locator("#explained tbody tr").evaluate_all(f"rows => rows.map({chosen})") == HOSTILE[:6:2]
    keep(page, "explained-hostile")


def test_edges_to_nodes_without_a_point_are_left_out():
    why = {"node 20": edges_of(("node 20", "node 21"), ("node 21", "left out")), "left out": WHY}
    (subject,) = payload_of([subject_of(explained=why)], None)["subjects"]
    assert subject["embedded"]["explained"] == [{"node": 20, "edges": [(20, 21, SHARES[0])]}]
