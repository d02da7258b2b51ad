"""Listings in a real browser: shown, filtered, marked in the picture, downloaded."""

import csv
import io

import numpy as np
import pytest

from browser import CONTRAST
from qgcn.answer import Answer
from qgcn.tasks.insights import Listing
from qgcn.viz.report import render
from reports import HOSTILE, subject_of

FORMULAS = ["=1+1", "+1 2", "-x", "@SUM(A1)", "\t=1", "\N{FULLWIDTH EQUALS SIGN}1"]
NAMES = [*HOSTILE, *FORMULAS, "a,b", '"a,b"', "two\r\nlines", " blanks ", "-5", "-5e3", "plain"]


def pairs_of(names, **known):
    """A listing of each node with the next one."""
    count = len(names)
    columns = {"node": np.array(names), "other": np.roll(np.array(names), -1)}
    columns |= {"probability": 1 - np.arange(count) / 7 / count, "common_neighbours": np.arange(count)}
    about = "Pairs to look through."
    return Listing("pairs", "Pairs", about, Answer(columns), nodes=("node", "other"), shares=("probability",), **known)


def nodes_of(names):
    columns = {"node": np.array(names), "label": np.roll(np.array(names), -1), "distance": np.linspace(1e-5, 2, len(names))}
    return Listing("nodes", "Nodes", "Nodes to look through.", Answer(columns))


def downloaded(page, section):
    with page.expect_download() as waiting:
        page.click(f"#listing-{section} .save")
    return waiting.value.suggested_filename, waiting.value.path().read_bytes().decode("utf-8")


def test_a_listing_is_shown_in_its_order(show):
    names = [f"node {k}" for k in (4, 2, 9)]
    page = show(render([subject_of(listings=[pairs_of(names), nodes_of([])])]))
    assert page.locator("#listing-pairs h2").inner_text() == "Pairs"
    assert page.locator("#listing-pairs .words").inner_text() == "Pairs to look through."
    assert page.locator("#listing-pairs thead th").all_inner_texts() == ["node", "other", "probability", "common neighbours"]
    rows = page.locator("#listing-pairs tbody tr")
    assert [rows.nth(k).locator("td").all_inner_texts() for k in range(3)] == [
        ["node 4", "node 2", "100.00\u00a0%", "0"],
        ["node 2", "node 9", "95.24\u00a0%", "1"],
        ["node 9", "node 4", "90.48\u00a0%", "2"],
    ]
    assert page.locator("#listing-nodes").inner_text().endswith("There are none.")


def test_shares_say_all_or_nothing_only_where_it_is(show):
    columns = {"node": np.array(["a"] * 4), "share": np.array([1.0, 0.999999, 0.000001, 0.0])}
    page = show(render([subject_of(listings=[Listing("shares", "Shares", "", Answer(columns), shares=("share",))])]))
    shown = page.locator("#listing-shares td.number").all_inner_texts()
    assert shown == ["100.00\u00a0%", "> 99.99\u00a0%", "< 0.01\u00a0%", "0.00\u00a0%"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_row_marks_both_nodes_in_the_picture(show, keep, theme):
    page = show(render([subject_of(listings=[pairs_of([f"node {k}" for k in (4, 20, 9)])])]), theme=theme)
    marked = "[qgcn.explorer.selected, qgcn.explorer.partner]"
    row = page.locator("#listing-pairs tbody tr").nth(1)
    row.locator("td").last.click()  # anywhere in the row
    assert page.evaluate(marked) == [20, 9]
    assert page.locator(".inspector h3").inner_text() == "node 20"
    assert page.locator(".inspector .partner").inner_text() == "marked together with node 9"
    assert page.locator("#listing-pairs .chosen").evaluate_all("rows => rows.map((row) => row.dataset.row)") == ["1"]
    path = page.evaluate("qgcn.explorer.stage.lines.at(-1).paths")
    assert len(path) == 1
    ends = page.evaluate("[20, 9].map((node) => [...qgcn.explorer.stage.scene.positions.subarray(3 * node, 3 * node + 3)])")
    np.testing.assert_allclose([path[0][0], path[0][-1]], ends, atol=1e-5)
    assert page.evaluate(CONTRAST) == []
    keep(page, f"listing-{theme}")
    row.get_by_role("button", name="node 9").focus()
    page.keyboard.press("Enter")
    assert page.evaluate(marked) == [9, 20]
    page.evaluate("qgcn.explorer.select(3)")
    assert page.evaluate(marked) == [3, -1]
    assert page.locator("#listing-pairs .chosen, .inspector .partner").count() == 0


def test_a_listing_is_filtered_and_downloaded_as_it_is_seen(show):
    page = show(render([subject_of(listings=[pairs_of([f"node {k}" for k in range(12)])], name="a run/of <mine>")]))
    rows = page.locator("#listing-pairs tbody tr:visible")
    assert "12 rows" in page.locator("#listing-pairs .tools").inner_text()
    page.fill("#listing-pairs-filter", " NODE 1")
    assert rows.count() == 5  # 0 with 1, 1, 9 with 10, 10, 11
    assert "5 of 12 rows" in page.locator("#listing-pairs .tools").inner_text()
    page.click("#theme")  # a redrawn page keeps it
    assert page.locator("#listing-pairs .save").inner_text() == "Download these 5 as CSV"
    name, text = downloaded(page, "pairs")
    assert name == "a_run_of_mine_-pairs.csv"
    assert [line.split(",")[0] for line in text.splitlines()] == ["node", *(f"node {k}" for k in (0, 1, 9, 10, 11))]
    page.fill("#listing-pairs-filter", "nobody")
    assert rows.count() == 0
    assert page.locator("#listing-pairs .save").is_disabled()


def test_hostile_names_are_text_on_the_page_and_in_the_file(show, keep):
    page = show(render([subject_of(names=NAMES, listings=[pairs_of(NAMES), nodes_of(NAMES)])]))
    assert page.evaluate("window.hacked === undefined")
    assert page.locator("#report script, #report img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    chosen = "(row) => { row.querySelector('button').click(); return qgcn.explorer.graph.names[qgcn.explorer.selected]; }"
    assert page.locator("#listing-pairs tbody tr").evaluate_all(f"rows => rows.map({chosen})") == NAMES
    keep(page, "listing-hostile")
    _, text = downloaded(page, "pairs")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert head == ["node", "other", "probability", "common_neighbours"]
    harmless = [f"'{name}" if name in FORMULAS else name for name in NAMES]
    assert [row[0] for row in rows] == harmless
    assert [row[1] for row in rows] == np.roll(np.array(harmless), -1).tolist()
    listing = pairs_of(NAMES)
    assert [float(row[2]) for row in rows] == listing.table["probability"].tolist()  # to the last digit
    assert [int(row[3]) for row in rows] == listing.table["common_neighbours"].tolist()
    assert not any(field.startswith(("=", "+", "@", "\t", "\r")) for row in rows for field in row)
    assert "hacked" in text
    _, labels = downloaded(page, "nodes")
    assert [row[1] for row in csv.reader(io.StringIO(labels, newline=""))][1:] == np.roll(np.array(harmless), -1).tolist()


def test_nodes_without_a_point_are_listed_all_the_same(show):
    page = show(render([subject_of(listings=[pairs_of(["node 1", "left out"])])]))
    assert page.locator("#listing-pairs tbody tr").first.locator("button").all_inner_texts() == ["node 1"]
    page.locator("#listing-pairs tbody tr").first.locator("td").last.click()
    assert page.evaluate("[qgcn.explorer.selected, qgcn.explorer.partner]") == [1, -1]
    page = show(render([subject_of(listings=[nodes_of(["node 1"])], embedded=None)]))
    page.locator("#listing-nodes tbody td").first.click()
    assert page.locator("#listing-nodes tbody button").count() == 0


def test_each_run_has_its_own_listings(show):
    runs = [subject_of(listings=[pairs_of(["node 1", "node 2"])]), subject_of("H4", listings=[nodes_of(["node 3"])])]
    page = show(render(runs))
    assert page.locator("#listing-pairs, #listing-nodes").evaluate_all("all => all.map((each) => each.id)") == ["listing-pairs"]
    page.locator(".mini").nth(1).click()
    assert page.locator("#listing-pairs, #listing-nodes").evaluate_all("all => all.map((each) => each.id)") == ["listing-nodes"]
    page.locator("#listing-nodes tbody tr").click()
    assert page.evaluate("qgcn.explorer.selected") == 3


def test_a_phone_scrolls_a_listing_and_not_the_page(show, keep):
    page = show(render([subject_of(names=NAMES, listings=[pairs_of(NAMES)])]), width=400, height=740)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.locator("#listing-pairs tbody tr").nth(3).locator("button").first.click()
    keep(page, "listing-phone")
