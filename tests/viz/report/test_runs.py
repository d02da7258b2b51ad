"""What a run folder tells, finished or not: real runs, trained here."""

import shutil
from functools import partial

import numpy as np
import pytest
import torch

from qgcn import metrics
from qgcn.seals import seal_archive
from qgcn.training import Config, Run
from qgcn.training.folder import RunFolder
from qgcn.viz.report.runs import read_run


def train(folder, **settings):
    run = Run.start(Config.checked({"epochs": 3, "seeds": 1, **settings}), folder)
    run.train()
    return run


@pytest.fixture(scope="module")
def classified(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "blocks"
    settings = {
        "task": "classification",
        "data": "stochastic-block",
        "space": "Q3,2",
        "seeds": 2,
        "epochs": 30,
        "device": "cpu",
    }
    return folder, train(folder, **settings)


@pytest.fixture
def copy(classified, tmp_path):
    """A run folder to spoil."""
    shutil.copytree(classified[0], tmp_path / "blocks")
    return tmp_path / "blocks"


def test_nodes_are_explained_by_the_model_of_the_seed_that_is_shown(classified):
    folder, run = classified
    first, last = run.node_ids[0], run.node_ids[-1]
    explained = read_run(folder, umap=False, seed=1, explain=[str(last), str(first)]).explained
    assert list(explained) == [str(last), str(first)]
    assert list(explained[str(first)]) == list(run.explain(first, seed=1))
    assert read_run(folder, umap=False).explained == {}
    with pytest.raises(ValueError, match="no node 'nobody'"):
        read_run(folder, umap=False, explain=["nobody"])


def test_a_classification_is_told_with_what_the_library_found(classified):
    folder, run = classified
    subject = read_run(folder, umap=False)
    assert subject.name == "blocks"
    assert subject.notices == []
    scores = {score.name: score.mean for score in subject.scores}
    assert scores["accuracy"] == pytest.approx(np.mean([each["test"]["accuracy"] for each in run.results]))
    assert [curve.seed for curve in subject.curves] == [0, 1]
    embedded = subject.embedded
    points, space, _ = run.embedding(0)
    torch.testing.assert_close(embedded.points, points)
    assert str(embedded.space) == "Q3,2"
    torch.testing.assert_close(embedded.space.beta, space.beta, check_dtype=False)
    expected = ["class", "predicted class", "right or wrong", "split", "community", "degree"]
    assert [column.name for column in embedded.columns] == expected
    by_class, by_degree = (
        next(each for each in embedded.quality if each.title == f"Test nodes right, by {by}") for by in ("class", "degree")
    )
    for quality in (by_class, by_degree):
        right = sum(group.count * group.score for group in quality.groups) / sum(group.count for group in quality.groups)
        assert right == pytest.approx(run.results[0]["network"]["test"]["accuracy"])
    both = run.data.edge_index
    assert embedded.precision.nanmean() == pytest.approx(float(metrics.mean_average_precision(points, both, space)), rel=1e-4)
    assert [listing.title for listing in subject.listings] == ["Labels most surely wrong"]
    assert "240 nodes" in subject.words[0]
    assert "test nodes correctly" in subject.words[2]


def test_another_seed_can_be_shown(classified):
    folder, run = classified
    subject = read_run(folder, umap=False, seed=1)
    torch.testing.assert_close(subject.embedded.points, run.embedding(1)[0])
    assert subject.shown == 1
    with pytest.raises(ValueError, match="has seeds 0 to 1, got 7"):
        read_run(folder, umap=False, seed=7)


def test_links_are_scored_by_degree(tmp_path):
    run = train(tmp_path / "links", task="links", data="ring-of-trees", space="H4", model="hgcn", epochs=10)
    subject = read_run(tmp_path / "links", umap=False)
    (edges, *_) = subject.embedded.quality
    assert edges.title == "Test edges told apart, by degree"
    assert sum(group.count for group in edges.groups) == run.task.links.test.shape[1]
    whole = sum(group.count * group.score for group in edges.groups) / run.task.links.test.shape[1]
    assert whole == pytest.approx(run.results[0]["network"]["test"]["roc_auc"], abs=1e-6)
    assert "guessing gives 50 %" in subject.words[2]


def test_a_reconstruction_in_a_product_is_told(tmp_path):
    train(tmp_path / "run", task="reconstruction", data="ring-of-trees", space="H2xS2")
    subject = read_run(tmp_path / "run", umap=False)
    assert "a product of hyperbolic space (2 dimensions) and a sphere (2 dimensions)" in subject.words[0]
    assert "came near the last epoch" in subject.words[-1]
    assert subject.embedded.exact.axes == ("distance from the origin in H2", "distance from the origin in S2")


def test_an_unfinished_run_is_told_as_far_as_it_got(copy, classified):
    (copy / "results.json").unlink()
    shutil.rmtree(copy / "embeddings")
    shutil.rmtree(copy / "weights")
    subject = read_run(copy, umap=False)
    assert subject.words[1].startswith("The run is not finished: it has got to epoch 30 of 30")
    assert subject.notices == [
        "Seed 0 is not finished: its embedding is that of the checkpoint at epoch 30.",
        f"Nothing is listed to look through: the run is not finished; resume it: qgcn resume {copy}.",
    ]
    assert subject.listings == []
    torch.testing.assert_close(subject.embedded.points, classified[1].embedding(0)[0])
    assert subject.scores == []
    shutil.rmtree(copy / "checkpoints")
    bare = read_run(copy, umap=False)
    assert bare.embedded is None
    assert bare.notices == ["There is no embedding yet: the run wrote none before it stopped."]
    assert len(bare.curves) == 2


def test_a_line_cut_short_is_left_out_of_a_run_that_is_not_finished(copy):
    path = copy / "metrics.jsonl"
    path.write_text(path.read_text()[:-20])
    with pytest.raises(ValueError, match=r"metrics\.jsonl is damaged: lines are missing at its end"):
        read_run(copy, umap=False)
    (copy / "results.json").unlink()
    assert len(read_run(copy, umap=False).curves[1].epoch) == 29


def test_the_page_needs_no_file_but_those_of_the_run(tmp_path):
    edges = tmp_path / "edges.csv"
    edges.write_text("a,b\nb,c\nc,d\nd,a\na,c\n")
    train(tmp_path / "run", task="reconstruction", data=str(edges), space="Q2,2")
    edges.unlink()
    subject = read_run(tmp_path / "run", umap=False)
    assert subject.notices == []
    assert subject.embedded.names == ["a", "b", "c", "d"]
    assert subject.embedded.edges.shape == (2, 5)


def test_an_embedding_of_other_nodes_is_refused(copy):
    def renamed(arrays):
        arrays["node_ids"] = arrays["node_ids"] + 1

    spoil(copy / "embeddings" / "seed-0.npz", renamed)
    with pytest.raises(ValueError, match="is of other nodes than the run's graph has"):
        read_run(copy, umap=False)


def spoil(path, change):
    with np.load(path) as content:
        arrays = dict(content)
    change(arrays)
    path.write_bytes(seal_archive(partial(np.savez, **arrays)))


def test_points_that_are_not_finite_are_left_out(copy, monkeypatch):
    """Those of a run that is not finished: no file holds such points."""
    whole = RunFolder(copy).embedding(0)
    points = whole.points.clone()
    points[[2, 5]] = torch.nan
    monkeypatch.setattr(RunFolder, "embedding", lambda *_: whole._replace(points=points))
    subject = read_run(copy, umap=False)
    assert subject.notices == ["2 of 240 points are not finite, the first that of node 2: they are left out of the views."]
    embedded = subject.embedded
    assert len(embedded.names) == len(embedded.points) == 238
    assert "2" not in embedded.names
    assert embedded.edges.max() < 238
    assert torch.isfinite(embedded.points).all()
    assert all(len(column.values) == 238 for column in embedded.columns)

    points[:] = torch.nan
    assert read_run(copy, umap=False).embedded is None


def test_a_file_of_points_that_are_not_finite_is_refused(copy):
    def some(arrays):
        arrays["points"][[2, 5]] = np.nan

    spoil(copy / "embeddings" / "seed-0.npz", some)
    with pytest.raises(ValueError, match=r"seed-0\.npz is damaged: points holds numbers that are not finite"):
        read_run(copy, umap=False)


def test_damaged_files_are_named(copy):
    (copy / "embeddings" / "seed-0.npz").write_bytes(b"no zip")
    with pytest.raises(ValueError, match=r"seed-0.npz has no checksum: it is damaged"):
        read_run(copy, umap=False)
    (copy / "results.json").write_text("{")
    with pytest.raises(ValueError, match=r"results.json has no checksum: it is damaged"):
        read_run(copy, umap=False)


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no run"):
        read_run(tmp_path)


def test_yardsticks_of_a_run_are_shown(tmp_path):
    config = {"task": "links", "data": "stochastic-block", "space": "H3", "epochs": 1, "device": "cpu"}
    run = Run.start(Config.checked(config), tmp_path / "run")
    run.train()
    subject = read_run(tmp_path / "run", umap=False)
    assert subject.yardsticks.pop("network alone") == run.results[0]["network"]["test"]
    assert subject.yardsticks == run.yardsticks
    assert run.task.verdict(run.summary["roc_auc"], run.yardsticks).sentence in subject.words
