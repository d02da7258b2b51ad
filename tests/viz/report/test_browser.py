"""The report in a real browser: every fixture ``show`` also checks that nothing is logged and no network is used."""

import math

import numpy as np
import pytest
import torch

from browser import CONTRAST
from qgcn import geometry
from qgcn.analysis import measure
from qgcn.data import read_graph
from qgcn.kernels import nearest_neighbours
from qgcn.manifolds import parse_space
from qgcn.viz.projections import exact_view
from qgcn.viz.report import Score, embed, graph_section, render
from reports import HOSTILE, points_of, subject_of

SPACES = ["Q3,2", "Q4,1", "Q3,3", "Q3,4", "Q2,2", "Q2,4", "H2", "Q0,5", "H4", "S3", "E4", "K3", "H2xS2", "Q2,2xE2"]


def exact_points(subject):
    embedded = subject.embedded
    return embedded.space.projx(embedded.points.double()).as_subclass(torch.Tensor)


def rows(page, table):
    found = page.locator(f"#{table} tbody tr").evaluate_all("rows => rows.map(r => [+r.dataset.node, +r.dataset.distance])")
    return [int(node) for node, _ in found], [distance for _, distance in found]


def test_click_shows_the_neighbours_that_the_library_finds(show, keep):
    subject = subject_of()
    page = show(render([subject]))
    distance, index = nearest_neighbours(exact_points(subject), subject.embedded.space, 10)
    page.click("[data-view=disk]")
    for node in (0, 17):
        x, y = page.evaluate(f"qgcn.explorer.stage.screenOf({node}).slice(0, 2)")
        box = page.locator("canvas.points").bounding_box()
        page.mouse.click(box["x"] + x, box["y"] + y)
        assert page.locator(".inspector h3").inner_text() == f"node {node}"
        found, lengths = rows(page, "nearest")
        assert found == index[node].tolist()
        np.testing.assert_allclose(lengths, distance[node].numpy(), rtol=1e-9)
        linked, _ = rows(page, "neighbours")
        ends = subject.embedded.edges
        assert set(linked) == set(ends[1][ends[0] == node]) | set(ends[0][ends[1] == node])
    keep(page, "selected")


def test_a_stage_too_small_for_its_axes_is_drawn_without_a_complaint(show):
    page = show(render([subject_of()]))
    axes = page.evaluate("""() => {
        const stage = qgcn.explorer.stage;
        stage.scene.bounds = stage.scene.bounds || [[0, 1], [0, 1]];
        stage.scene.axes = stage.scene.axes || ["x", "y"];
        Object.assign(stage, { width: 1, height: 1 });
        stage.drawNow();
        return stage.box();
    }""")
    assert (axes["left"], axes["top"]) == (axes["right"], axes["bottom"])


@pytest.fixture
def spaces(show):
    """Subjects in every kind of space, and a page that can be asked about each of them."""
    subjects = [subject_of(name, count=24) for name in SPACES]
    page = show(render(subjects))
    page.evaluate(
        "window.graphs = JSON.parse(document.getElementById('data').textContent).subjects.map((s) => new Graph(s.embedded))"
    )
    return page, subjects


def test_distances_and_exact_view_are_those_of_the_library(spaces):
    page, subjects = spaces
    for k, subject in enumerate(subjects):
        space, points = subject.embedded.space, exact_points(subject)
        found = page.evaluate(f"Array.from({{length: 24}}, (_, i) => [...graphs[{k}].points.distancesFrom(i)])")
        expected = space.pairwise_dist(points).fill_diagonal_(0).numpy()
        np.testing.assert_allclose(np.array(found), expected, rtol=1e-7, atol=1e-7, err_msg=str(space))
        script = "({points, embedded}) => Array.from({length: 24}, (_, i) => [...points.exact(points.at(i), embedded.exact)])"
        view = exact_view(points, space).coordinates
        seen = np.array(page.evaluate(f"({script})(graphs[{k}])"))[:, : view.shape[1]]
        np.testing.assert_allclose(seen, view, rtol=1e-5, atol=1e-5, err_msg=str(space))


def test_edges_are_geodesics_of_the_space(spaces):
    """All steps of a path are equally long, and together as long as the distance."""
    page, subjects = spaces
    for k, subject in enumerate(subjects):
        space, points = subject.embedded.space, exact_points(subject)
        joined = [n for n in range(1, 24) if not hasattr(space, "is_connected") or space.is_connected(points[0], points[n])]
        for node in (
            joined[:3] if str(space) != "Q2,2xE2" else []
        ):  # factors that no geodesic joins would need a rule of their own
            path = page.evaluate(f"graphs[{k}].points.geodesic(0, {node}, 8).map((x) => [...x])")
            x = torch.tensor(path, dtype=torch.float64)
            steps = space.dist(x[:-1], x[1:])
            torch.testing.assert_close(steps.sum(), space.dist(points[0], points[node]), rtol=1e-6, atol=1e-6)
            torch.testing.assert_close(steps, steps.mean().expand(8), rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(x[[0, -1]], points[[0, node]], rtol=1e-7, atol=1e-7)


def test_causal_types_are_told(show):
    subject = subject_of("Q3,2", count=40)
    points, space = subject.embedded.points, subject.embedded.space
    points[0] = torch.tensor([1.0, 0, 0, 0, 0])
    points[1] = torch.tensor([1.0, 1, 1, 0, 0])  # along a null direction
    points[2] = torch.tensor([-math.cosh(1), 0, math.sinh(1), 0, 0])  # beyond what a geodesic reaches
    page = show(render([subject]))
    told = page.evaluate("Array.from({length: 40}, (_, j) => qgcn.explorer.graph.points.causalType(0, j))")[1:]
    x = exact_points(subject)
    form = {"beta": space.beta, "time_dim": 2}
    expected = []
    for other in x[1:]:
        if not geometry.is_connected(x[0], other, **form):
            expected.append("broken")
        else:
            sign = float(geometry.signed_sqdist(x[0], other, **form))
            expected.append("null" if abs(sign) < 1e-12 else "space-like" if sign > 0 else "time-like")
    assert told == expected
    assert expected[:2] == ["null", "broken"]
    assert set(expected) == {"null", "broken", "space-like", "time-like"}
    path = page.evaluate("qgcn.explorer.graph.points.geodesic(0, 2, 8).map(x => [...x])")
    np.testing.assert_allclose(path[-1], x[2].numpy(), atol=1e-6)  # the broken one arrives, too


HEADS = """() => {
    const context = CanvasRenderingContext2D.prototype, { moveTo, fill } = context, heads = [];
    let last = null;
    context.moveTo = function (x, y) { last = [x, y]; moveTo.call(this, x, y); };
    context.fill = function (...given) { if (last) heads.push(last); last = null; fill.apply(this, given); };
    context.stroke = ((stroke) => function (...given) { last = null; stroke.apply(this, given); })(context.stroke);
    qgcn.explorer.stage.drawNow();
    Object.assign(context, { moveTo, fill });
    return heads;
}"""


def test_time_runs_upwards_and_arrows_point_at_targets(show, keep):
    subject = subject_of("M3", directed=True)
    embedded = subject.embedded
    page = show(render([subject]))
    assert page.get_attribute("[role=tab][aria-selected=true]", "data-view") == "time"  # where nodes have one
    places = np.array(page.evaluate("Array.from({length: 40}, (_, k) => qgcn.explorer.stage.screenOf(k).slice(0, 2))"))
    (time,) = (column.values for column in embedded.columns if column.name == "time")
    assert np.array_equal(np.argsort(-places[:, 1]), np.argsort(time))
    assert np.array_equal(np.argsort(places[:, 0]), np.argsort(embedded.layouts["time"][:, 0]))
    page.select_option("#edges", "all")
    heads = np.array(page.evaluate(HEADS))
    targets = [{1: {b}, 2: {a}, 3: {a, b}}[way] for (a, b), way in zip(embedded.edges.T.tolist(), embedded.ways, strict=True)]
    wanted = np.bincount([node for each in targets for node in each], minlength=40)
    found = np.bincount(np.linalg.norm(places[:, None] - heads, axis=2).argmin(axis=0), minlength=40)
    assert (found == wanted).mean() > 0.9  # but for nodes that nearly coincide
    page.select_option("#edges", "none")
    assert page.evaluate(HEADS) == []
    keep(page, "time")


def test_undirected_runs_have_no_view_of_time(show):
    page = show(render([subject_of("M3")]))
    assert page.locator("[data-view=time]").count() == 0


def test_search_finds_a_node_by_name_with_the_keyboard_alone(show):
    page = show(render([subject_of()]))
    page.focus("#search")
    page.keyboard.type("NODE 1")
    assert page.locator("#matches li").count() == 8
    assert page.locator("#matches li").first.inner_text() == "node 1"
    page.keyboard.press("ArrowDown")
    wanted = page.locator("#matches li[aria-selected=true]").inner_text()
    assert page.get_attribute("#search", "aria-activedescendant") == "match-1"
    page.keyboard.press("Enter")
    assert page.locator(".inspector h3").inner_text() == wanted
    assert page.locator("#matches").is_hidden()
    page.fill("#search", "nobody")
    assert page.locator("#matches li").all_inner_texts() == ["no such node"]
    page.keyboard.press("Enter")
    assert page.locator(".inspector h3").inner_text() == wanted


def test_views_switch_turn_and_zoom(show, keep):
    page = show(render([subject_of("Q3,3")]))
    page.focus("[data-view=disk]")
    seen = []
    for _ in range(4):
        page.keyboard.press("ArrowRight")
        seen.append(page.get_attribute("[role=tab][aria-selected=true]", "data-view"))
        keep(page, f"view-{seen[-1]}")
        page.focus("canvas.points")
        before = page.evaluate("qgcn.explorer.stage.screenOf(3)")
        page.keyboard.press("ArrowLeft")
        moved = page.evaluate("qgcn.explorer.stage.screenOf(3)")
        assert math.dist(before[:2], moved[:2]) > 0.5
        page.keyboard.press("+")
        assert page.evaluate("qgcn.explorer.stage.zoom") > 1
        page.keyboard.press("0")
        np.testing.assert_allclose(page.evaluate("qgcn.explorer.stage.screenOf(3)"), before, atol=1e-6)
        page.focus("[role=tab][aria-selected=true]")
    assert seen == ["exact", "sphere", "hyperboloid", "disk"]


def test_points_are_drawn_in_their_colours(show):
    page = show(render([subject_of()]))
    page.wait_for_timeout(200)
    script = """() => {
        const stage = qgcn.explorer.stage, gl = stage.gl, found = [];
        stage.drawNow();
        for (let k = 0; k < 40; k++) {
            const [x, y] = stage.screenOf(k), pixel = new Uint8Array(4);
            gl.readPixels(Math.round(x * stage.ratio), Math.round((stage.height - y) * stage.ratio), 1, 1, gl.RGBA,
                gl.UNSIGNED_BYTE, pixel);
            found.push([...pixel]);
        }
        return [found, Array.from(stage.colours)];
    }"""
    found, colours = page.evaluate(script)
    drawn, wanted = np.array(found, dtype=float), np.array(colours, dtype=float).reshape(-1, 4)
    shown = np.abs(drawn[:, :3] - wanted[:, :3]).max(axis=1) < 40  # others lie below a neighbour
    assert shown.mean() > 0.7


def test_colours_and_legend_follow_the_column(show):
    page = show(render([subject_of()]))
    assert page.locator("#colour option").all_inner_texts() == ["kind", "community", "degree"]
    keys = page.locator(".legend .key")
    assert [text.split()[0] for text in keys.all_inner_texts()] == ["even", "odd", "<b>bold</b>"]
    keys.nth(1).click()
    assert keys.nth(1).get_attribute("aria-pressed") == "true"
    faint = page.evaluate("Array.from(qgcn.explorer.stage.colours).filter((_, k) => k % 4 === 3)")
    assert all((alpha > 100) == (k % 3 == 1) for k, alpha in enumerate(faint))
    page.select_option("#colour", label="degree")
    assert page.locator(".legend .ramp").count() == 1


def test_names_are_text_and_nothing_else(show, keep):
    subject = subject_of(names=HOSTILE, words=[HOSTILE[0]], notices=[HOSTILE[1]], name=HOSTILE[2])
    page = show(render([subject], {"words": [HOSTILE[1]], "facts": {HOSTILE[0]: HOSTILE[1]}}))
    for k, name in enumerate(HOSTILE):
        page.evaluate(f"qgcn.explorer.select({k}, true)")
        shown = page.locator(".inspector h3").text_content()
        assert shown == name if len(name) <= 80 else name.startswith(shown.removesuffix("\N{HORIZONTAL ELLIPSIS}"))
        page.fill("#search", name[:20])
        assert page.locator("#matches li").first.get_attribute("data-node") == str(k)
        page.keyboard.press("Escape")
    assert page.locator(".whole").text_content() == HOSTILE[-1]
    assert page.evaluate("window.hacked === undefined")
    assert page.locator("#report script, #report img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    keep(page, "hostile-names")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_has_readable_contrast(show, keep, theme):
    page = show(
        render([subject_of(notices=["Something is missing."])], {"words": ["Tree-like."], "facts": {"delta": 0.5}}), theme=theme
    )
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    page.evaluate("qgcn.explorer.select(2)")
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate(CONTRAST) == []
    keep(page, theme)
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") != theme
    assert page.evaluate(CONTRAST) == []


def test_a_phone_shows_all_without_scrolling_sideways(show, keep):
    page = show(render([subject_of(), subject_of("H4")]), width=360, height=740)
    page.evaluate("qgcn.explorer.select(2)")
    keep(page, "phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_runs_are_compared_side_by_side(show, keep):
    page = show(render([subject_of("Q3,2"), subject_of("H4", scores=[]), subject_of("H2xS2")]))
    assert page.locator("#comparison tbody tr").count() == 3
    assert page.locator(".mini").count() == 3
    assert page.locator("#overview h2").inner_text() == "What was run: run Q3,2"
    page.locator(".mini").nth(2).click()
    assert page.locator("#overview h2").inner_text() == "What was run: run H2xS2"
    assert page.evaluate("qgcn.explorer.graph.embedded.space.name") == "H2xS2"
    page.evaluate("qgcn.explorer.select(1)")
    assert page.locator("#nearest thead th").all_inner_texts() == ["node", "distance", "linked"]  # no causal types here
    keep(page, "comparison")


def test_figures_have_labels_for_screen_readers(show):
    charts = [{"title": "delta", "kind": "bars", "x": [0, 0.5, 1], "y": [0.5, 0.3, 0.2]}]
    charts.append({"title": "spectrum", "kind": "line", "x": [0, 1, 2], "y": [3, 1, -1]})
    page = show(render([subject_of()], {"charts": charts}))
    assert page.locator("#analysis svg").count() == 2
    assert page.locator("#analysis rect").count() == 3
    assert all(page.locator("svg[role=img]").evaluate_all("all => all.map(each => each.getAttribute('aria-label'))"))
    assert "40 nodes embedded in Q3,2" in page.get_attribute("canvas.points", "aria-label")
    is_named = "e.textContent.trim() || e.getAttribute('aria-label') || (e.labels && e.labels.length)"
    assert page.locator("button, select, input").evaluate_all(f"all => all.every((e) => {is_named})")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_geometry_of_the_graph_is_shown_with_labelled_charts(show, keep, theme):
    analysis = graph_section(measure("ring-of-trees"))
    page = show(render([subject_of()], analysis), theme=theme)
    assert page.locator("#analysis h2").inner_text() == "The geometry of the graph ring-of-trees"
    assert page.locator("#analysis p").all_inner_texts() == analysis["words"]
    assert page.locator("#analysis dd").count() == len(analysis["facts"])
    labels = page.locator("#analysis svg[role=img]").evaluate_all("all => all.map((each) => each.getAttribute('aria-label'))")
    assert [label.split(":")[0] for label in labels] == [chart["title"] for chart in analysis["charts"]]
    assert labels[0].startswith("Delta of four nodes: 7 columns from 0 to 3, the highest 69")
    for k, chart in enumerate(analysis["charts"]):
        words = page.locator("#analysis svg").nth(k).locator(".label").all_text_contents()
        assert words == [chart["x_label"], chart["y_label"]]
    assert page.evaluate(CONTRAST) == []
    keep(page, f"analysis-{theme}")


def test_negative_columns_hang_from_zero(show):
    page = show(render([subject_of()], {"charts": [{"title": "signs", "kind": "bars", "x": [1, 2, 3], "y": [2, -1, -3]}]}))
    rects = "all => all.map((e) => ['y', 'height', 'fill'].map((name) => e.getAttribute(name)))"
    (up, down, lower) = page.locator("#analysis rect").evaluate_all(rects)
    zero = float(up[0]) + float(up[1])
    assert float(down[0]) == pytest.approx(zero)
    assert float(lower[0]) == pytest.approx(zero)
    assert float(lower[1]) == pytest.approx(3 * float(down[1]))
    assert up[2] != down[2] == lower[2]
    label = page.get_attribute("#analysis svg", "aria-label")
    assert label == "signs: 3 columns from 1 to 3, the highest 2 at 1, the lowest -3 at 3."


def test_a_run_without_an_embedding_is_told_of(show):
    page = show(render([subject_of(embedded=None, notices=["There is no embedding yet."])]))
    assert page.locator("#explore").is_hidden()
    assert page.locator(".notice").inner_text() == "There is no embedding yet."
    assert page.locator("#curves svg").count() == 2


def test_two_space_dimensions_are_seen_first_in_their_own_disk(show):
    page = show(render([subject_of("Q2,2")]))
    assert page.get_attribute("[role=tab][aria-selected=true]", "data-view") == "exact"
    seen = np.array(page.evaluate("Array.from({length: 40}, (_, k) => qgcn.explorer.stage.screenOf(k).slice(0, 2))"))
    page.focus("canvas.points")
    page.keyboard.press("ArrowUp")  # the height is there when the picture is turned
    turned = np.array(page.evaluate("Array.from({length: 40}, (_, k) => qgcn.explorer.stage.screenOf(k).slice(0, 2))"))
    assert np.abs(seen - turned)[:, 1].max() > 1
    assert "the space factor, in the Poincar\u00e9 disk" in page.locator(".caption").inner_text()
    page = show(render([subject_of("Q3,2")]))
    assert page.get_attribute("[role=tab][aria-selected=true]", "data-view") == "disk"


def test_edges_within_a_category_have_its_colour(show):
    page = show(render([subject_of()]))
    colours = "qgcn.explorer.stage.lines.map((line) => [line.paths.length, line.colour.map((v) => Math.round(255 * v))])"
    plain, *within = page.evaluate(colours)
    ends = page.evaluate("[...qgcn.explorer.graph.edges]")
    same = [a % 3 for a, b in zip(ends[::2], ends[1::2], strict=True) if a % 3 == b % 3]
    assert plain[0] == len(ends) // 2 - len(same)
    assert [count for count, _ in within] == [same.count(k) for k in range(3) if k in same]
    page.select_option("#colour", label="degree")
    assert len(page.evaluate(colours)) == 1


def test_titles_of_scores_are_those_of_the_subject(show):
    known = {"scores": [Score("roc_auc", 0.9, 0.01), Score("worst_gap", 3.5, 0.5)], "titles": {"roc_auc": "ROC AUC"}}
    page = show(render([subject_of(**known, errors=("worst_gap",), held_out=True)] * 2))
    head = page.locator("#comparison thead th").all_inner_texts()
    assert head[-2:] == ["ROC AUC", "worst gap"]
    assert page.locator("#comparison tbody tr").first.locator("td").last.inner_text() == "3.5 \u00b1 0.5"
    assert page.locator("#curves h3, #curves figcaption").all_inner_texts()[-1].startswith("Validation: ROC AUC")
    page = show(render([subject_of(curve_metric="accuracy")]))
    assert "Score: accuracy" in page.locator("#curves").inner_text()


def test_yardsticks_stand_beside_the_model_with_the_best_in_bold(show, keep):
    scores = [Score("roc_auc", 0.9, 0.01), Score("distance", 3.0, 0.5), Score("mrr", 0.2, 0.0)]
    yardsticks = {"Adamic-Adar": {"roc_auc": 0.8, "distance": 2.0}, HOSTILE[0]: {"roc_auc": math.nan}}
    page = show(render([subject_of(scores=scores, yardsticks=yardsticks, errors=("distance",), titles={"roc_auc": "ROC AUC"})]))
    assert page.locator("#methods thead th").all_inner_texts() == ["method", "ROC AUC", "distance"]
    cells = page.locator("#methods tbody tr").evaluate_all("rows => rows.map(r => [...r.children].map(c => c.innerText))")
    assert cells[0] == ["qgcn in Q3,2", "90.00 ± 1.00", "3 ± 0.5"]
    assert cells[1] == ["Adamic-Adar", "80.00", "2"]
    assert cells[2][1:] == ["\u2013", "\u2013"]
    assert cells[2][0] == HOSTILE[0]
    assert page.locator("#methods b").all_inner_texts() == ["90.00 ± 1.00", "2"]
    keep(page, "yardsticks")
    assert show(render([subject_of()])).locator("#methods").count() == 0


def test_an_edge_that_leads_both_ways_counts_twice(show):
    space, data = parse_space("E2"), read_graph(np.array([[0, 2, 1, 2, 3], [1, 1, 2, 0, 2]]))
    for directed, edges in ((True, "5"), (False, "4")):
        embedded, _ = embed(points_of(space, 4), space, data, data.node_ids, umap=False, directed=directed)
        page = show(render([subject_of("E2", embedded=embedded)]))
        assert page.locator(".tile", has_text="edges").locator("b").inner_text() == edges
