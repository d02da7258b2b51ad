"""Nothing is built, read or split twice: counted over whole commands."""

from collections import Counter

import pytest
import torch

from qgcn.cli import main
from qgcn.data import graph_files
from qgcn.models import Encoder, registry
from qgcn.nn import Adjacency
from qgcn.tasks import LinkPrediction, Rung, links


@pytest.fixture
def counted(monkeypatch):
    """Count models built, adjacencies made, files read and splits drawn."""
    counts = Counter()

    def counting(owner, name, key):
        plain = getattr(owner, name)

        def wrapped(*arguments, **options):
            counts[key] += torch.get_default_device().type != "meta"  # a model without memory, to compare weights with
            return plain(*arguments, **options)

        monkeypatch.setattr(owner, name, wrapped)

    counting(Encoder, "__init__", "models")
    counting(registry.Model, "build", "built")
    counting(Adjacency, "of", "adjacencies")
    counting(graph_files, "read_table", "files")
    counting(links, "link_parts", "splits")
    return counts


def run(*arguments):
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert not stop.value.code


@pytest.fixture
def edges(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.csv").write_text("".join(f"{a},{b}\n" for a in range(40) for b in (a + 1, 2 * a + 1, 2 * a + 2) if b < 40))
    return "my.csv"


@pytest.mark.parametrize("batch", [True, False])
def test_a_run_builds_one_model_a_seed_and_one_adjacency(edges, counted, batch):
    batched = "--batch-seeds" if batch else "--no-batch-seeds"
    run("train", "links", "--data", edges, "--space", "Q3,2", "--seeds", "3", "--epochs", "3", "--out", "run", batched)
    assert counted == {"models": 3, "built": 3, "adjacencies": 1, "files": 1, "splits": 1}


@pytest.mark.parametrize(
    "options", [("--edge-dropout", "0.3"), ("--model", "gat", "--space", "E4"), ("--attention", "gat")], ids=str
)
def test_dropping_edges_and_other_models_need_no_more(edges, counted, options):
    run("train", "links", "--data", edges, "--epochs", "2", "--out", "run", *options)
    assert counted == {"models": 1, "built": 1, "adjacencies": 1, "files": 1, "splits": 1}


def test_classification_builds_no_more_models_than_it_trains(counted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train = ("train", "classification", "--data", "stochastic-block", "--epochs", "2", "--seeds", "3")
    run(*train, "--space", "Q3,2", "--out", "ours")
    run(*train, "--model", "gcn", "--out", "theirs")
    assert counted["models"] == counted["built"] == 6
    assert counted["adjacencies"] == 2


def test_a_space_is_chosen_on_one_reading_one_split_and_one_adjacency(edges, counted, monkeypatch):
    monkeypatch.setattr(LinkPrediction, "rungs", (Rung(1, 2, 1), Rung(1 / 3, 3, 2)))
    run("train", "links", "--data", edges, "--space", "auto:4", "--epochs", "3", "--seeds", "2", "--out", "run")
    spaces, places = 11, 3  # five Q, E, H, S, three products; a third of them twice
    trials = spaces + 2 * places
    assert counted == {"models": trials + 2, "built": trials + 2, "adjacencies": 1, "files": 1, "splits": 1}


def test_a_run_is_resumed_and_reported_without_its_file(edges, counted):
    run("train", "links", "--data", edges, "--space", "H3", "--epochs", "3", "--out", "run")
    counted.clear()
    run("resume", "run")
    assert counted == {"adjacencies": 1}
    counted.clear()
    run("report", "run", "--no-umap", "--no-geometry")
    assert counted == {"models": 1, "built": 1, "adjacencies": 1}
