"""``qgcn train`` and ``qgcn datasets``: what is asked for is done, what is wrong is said in one line."""

import json
import os

import numpy as np
import pandas as pd
import pytest
import yaml

from qgcn.training import Config

SMALL = ("--space", "Q3,2", "--epochs", "3")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# --- what works ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "data", "scores"),
    [
        ("reconstruction", "ring-of-trees", ["map", "distortion", "worst_distortion"]),
        ("classification", "stochastic-block", ["accuracy", "f1_micro", "f1_macro"]),
        ("links", "ring-of-trees", ["roc_auc", "average_precision", "mrr", "hits@10"]),
    ],
)
def test_train_writes_a_run_and_shows_its_scores(here, command, task, data, scores):
    out = command.works("train", task, "--data", data, *SMALL, "--out", "run", "--seeds", "2")
    assert f"{task} on {data}: " in out
    assert "2 seeds, mean ± standard deviation" in out
    assert "Written to run\n" in out
    results = json.loads((here / "run" / "results.json").read_text())
    assert list(results["summary"]) == scores
    for name, value in results["summary"].items():
        percent = 1 if "distortion" in name else 100
        assert f"{percent * value['mean']:.2f} ± {percent * value['std']:.2f}" in out
    files = ["config.yaml", "environment.json", "graph.npz", "metrics.jsonl", "results.json", "split.safetensors"]
    assert names(here / "run") == sorted([*files, "checkpoints", "weights", "embeddings"])
    for seed in (0, 1):
        assert (here / "run" / "weights" / f"seed-{seed}.safetensors").is_file()
        assert (here / "run" / "embeddings" / f"seed-{seed}.npz").is_file()
    shown, again = (text[text.index(" (2 seeds, mean") :] for text in (out, command.works("resume", "run")))
    assert again == shown


def test_train_reads_own_files_and_keeps_their_names(here, command):
    people = ["ann", "bob", "cid", "dan", "eve", "flo", "gus", "hal", "ida", "joe", "kim", "lea"]
    edges = [(a, b) for k, a in enumerate(people) for b in people[k + 1 : k + 4]]
    (here / "in").mkdir()
    (here / "in" / "friends.csv").write_text("from,to\n" + "".join(f"{a},{b}\n" for a, b in edges))
    (here / "in" / "people.csv").write_text("id,age,size\n" + "".join(f"{a},{k},{k * k}\n" for k, a in enumerate(people)))
    (here / "in" / "teams.tsv").write_text("id\tteam\n" + "".join(f"{a}\t{'rb'[k % 2]}\n" for k, a in enumerate(people)))
    files = ("--data", "in/friends.csv", "--features", "in/people.csv", "--labels", "in/teams.tsv")
    out = command.works("train", "classification", *files, *SMALL, "--out", "run", "--no-row-normalize")
    assert "12 nodes, 30 edges, 2 features" in out
    with np.load(here / "run" / "embeddings" / "seed-0.npz", allow_pickle=False) as saved:
        assert saved["node_ids"].tolist() == people
        assert saved["points"].shape == saved["tangent"].shape == (12, 5)
    # from elsewhere, and whatever becomes of the files
    os.chdir(here / "run")
    assert "12 nodes" in command.works("resume", ".")
    os.chdir(here)
    (here / "in" / "friends.csv").write_text("ann,bob\n" + "".join(f"{a},{b}\n" for a, b in edges[1:-1]))
    (here / "in" / "people.csv").unlink()
    assert "12 nodes, 30 edges, 2 features" in command.works("resume", "run")  # it keeps its own graph


def test_train_takes_columns_parquet_and_splits_of_files(here, command):
    people = [f"p{k:02d}" for k in range(24)]
    edges = [(a, b) for k, a in enumerate(people) for b in people[k + 1 : k + 4]]
    frame = pd.DataFrame(
        [(k, a, b, 1 + k % 3) for k, (a, b) in enumerate(edges)], columns=["order", "buyer", "seller", "amount"]
    )
    frame.to_csv("orders.csv", index=False)
    frame.to_parquet("orders.parquet")
    pd.DataFrame({"id": people, "age": np.arange(24.0), "size": 1.0}).to_parquet("people.parquet")
    pd.DataFrame({"id": people, "team": [f"t{k % 2}" for k in range(24)]}).to_parquet("teams.parquet")
    named = ("--source", "buyer", "--target", "seller")

    split = pd.DataFrame([(a, b, "val" if k % 8 == 0 else "test") for k, (a, b) in enumerate(edges) if k % 4 == 0])
    split.to_csv("links.tsv", sep="\t", index=False, header=["source", "target", "part"])
    out = command.works("train", "links", "--data", "orders.csv", *named, "--split", "links.tsv", *SMALL, "--out", "links")
    assert "24 nodes, 66 edges" in out
    assert "columns 'order', 'amount' ignored" in out
    assert "49 train, 9 val, 8 test edges; 9 and 8 non-edges" in out
    (here / "links.tsv").unlink()
    (here / "orders.csv").unlink()
    assert command.works("resume", "links").splitlines()[2:] == out.splitlines()[2:]  # its folder is enough

    pd.DataFrame({"id": people, "part": ["train", "val", "test"] * 8}).to_parquet("nodes.parquet")
    files = ("--data", "orders.parquet", *named, "--weight", "4", "--features", "people.parquet", "--labels", "teams.parquet")
    out = command.works("train", "classification", *files, "--split", "nodes.parquet", *SMALL, "--out", "file")
    assert "24 nodes, 66 edges, 2 features" in out
    assert "8 train, 8 val, 8 test nodes" in out
    out = command.works("train", "classification", *files, "--val", "0.25", "--test", "0.5", *SMALL, "--out", "shares")
    assert "split drawn by val and test: 6 train, 6 val, 12 test nodes" in out
    assert command.works("resume", "shares").splitlines()[2:] == out.splitlines()[2:]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("links", "--data", "o.csv", "--source", "buyr", "--target", "seller"),
            "no column 'buyr' for the source; did you mean",
        ),
        (("links", "--data", "o.csv", "--source", "buyer"), "source and target must be named together"),
        (("links", "--data", "one.csv"), "one.csv has 1 column: expected two ids and perhaps a weight"),
        (
            ("links", "--data", "cycle", "--weight", "w"),
            "weight names a column of a table, but the graph is the data set cycle",
        ),
        (("links", "--data", "g.pkl"), "g.pkl is a pickle, which is never read"),
        (("links", "--data", "cycle", "--split", "none.csv"), "no file none.csv"),
        (("links", "--data", "cycle", "--split", "one.csv"), "one.csv has 1 column: expected three, source, target and part"),
        (("links", "--data", "cycle", "--split", "s.csv"), "s.csv, line 2: no node 999 in the graph, whose nodes are 0 to"),
        (("links", "--data", "cycle", "--split", "s.csv", "--val", "0.3"), "val has no effect beside split"),
        (("classification", "--data", "stochastic-block", "--split", "s.csv"), "s.csv has 3 columns: expected two, the id"),
        (("classification", "--data", "stochastic-block", "--val", "0.5", "--test", "0.5"), "shares with val + test < 1"),
        (("reconstruction", "--data", "cycle", "--val", "0.5"), "No such option: --val"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_tables_and_splits_are_said_in_one_line(here, command, arguments, said):
    (here / "o.csv").write_text("order,buyer,seller\n1,a,b\n2,b,c\n")
    (here / "one.csv").write_text("a\nb\n")
    (here / "s.csv").write_text("0,1,val\n1,999,test\n")
    (here / "g.pkl").write_bytes(b"\x80")
    assert said in command.fails("train", *arguments, *SMALL)


@pytest.mark.parametrize(
    ("task", "space", "said"),
    [
        ("reconstruction", ("--space", "Q3,2"), "are not used"),
        ("reconstruction", ("--model", "qgcn"), "used by convolutions alone"),
        ("links", ("--space", "Q3,2"), "are not used"),
        ("classification", ("--space", "Q3,2"), None),
        ("classification", ("--model", "sage"), "are not used"),
    ],
)
def test_train_says_what_weights_are_good_for(here, command, task, space, said):
    lines = [f"n{i},n{(i + step) % 12},{step}" for i in range(12) for step in (1, 2, 5)]
    (here / "w.csv").write_text("\n".join(["source,target,weight", *lines]))
    (here / "y.csv").write_text("\n".join(f"n{i},{'ab'[i % 2]}" for i in range(12)))
    labels = ("--labels", "y.csv") if task == "classification" else ()
    out = command.works("train", task, "--data", "w.csv", *labels, *space, "--epochs", "3")
    assert ("weights of edges" in out) == (said is not None)
    assert said is None or said in out


def test_a_name_with_brackets_is_shown_as_it_is(here, command):
    (here / "[bold]a.csv").write_text("a,b\nb,c\nc,d\nd,a\nd,e\ne,f\na,f\nf,g\n")
    out = command.works("train", "reconstruction", "--data", "[bold]a.csv", *SMALL, "--out", "[red]")
    assert "[bold]a.csv: shallow in Q3,2" in out
    assert "Written to [red]" in out


def test_flags_override_the_config_file(here, command):
    settings = {"task": "links", "data": "cycle", "space": "H4", "epochs": 3, "lr": "1e-3", "bias": True, "patience": 9}
    (here / "c.yaml").write_text(yaml.safe_dump(settings))
    flags = ("--space", "E4", "--epochs", "2", "--no-bias", "--patience", "7")
    command.works("train", "links", "--config", "c.yaml", *flags, "--out", "run")
    saved = yaml.safe_load((here / "run" / "config.yaml").read_text())
    changed = {"space": "E4", "epochs": 2, "bias": False, "patience": 7, "lr": 0.001}
    assert {key: saved[key] for key in settings} == settings | changed
    assert Config.checked(saved).model_dump() == saved


def test_every_key_is_a_flag_of_a_task_that_needs_it(command):
    helps = {task: command.works("train", task, "--help") for task in ("reconstruction", "classification", "links")}
    for name, field in Config.model_fields.items():
        flag = "--" + name.replace("_", "-")
        told = [task for task, text in helps.items() if f" {flag} " in text]
        about = field.description.split(":")[0].lower()
        assert told == ([] if name == "task" else [about] if about in helps else list(helps)), name


def test_help_teaches(command):
    text = command.works("train", "links", "--help")
    for panel in ("Data", "Model", "Training", "Seeds and device"):
        assert f"─ {panel} ─" in text
    words = " ".join(text.replace("│", " ").split())
    assert "Example: qgcn train links --data" in words
    for told in (
        "(default: 0.01)",
        "(default: 0.0001)",
        "(sum, mean, sym; default: mean)",
        "(default: runs/TASK-DATA-MODEL-SPACE)",
    ):
        assert told in words


def test_folders_get_names_of_their_own(here, command):
    for _ in range(2):
        command.works("train", "links", "--data", "cycle", *SMALL)
    assert names(here / "runs") == ["links-cycle-qgcn-Q3,2", "links-cycle-qgcn-Q3,2-2"]


# --- what is wrong -------------------------------------------------------------------------------------------------------

GRAPH = "".join(f"{a},{b}\n" for a in range(12) for b in range(a + 1, a + 3) if b < 12)
FILES = {
    "graph.csv": GRAPH,
    "empty.csv": "",
    "one.csv": "1\n2\n3\n",
    "graph.pdf": "1,2\n",
    "nan.csv": "id,a,b\n" + "".join(f"{k},1,{'nan' if k == 5 else k}\n" for k in range(12)),
    "few.csv": "id,a\n0,1\n",
    "labels.csv": "id,label\n0,a\n1,b\n99,a\n",
    "key.yaml": "data: cycle\nepocs: 3\n",
    "type.yaml": "data: cycle\nepochs: many\n",
    "list.yaml": "- data\n- epochs\n",
    "broken.yaml": "data: [cycle\n",
    "other.yaml": "task: reconstruction\ndata: cycle\n",
    "small.yaml": "data: cycle\ndropout: 0.5\n",
}
LINKS = ("train", "links")
CASES = {
    "no data": (LINKS, "no data: give --data NAME or --data FILE"),
    "missing file": ((*LINKS, "--data", "none.csv"), "no file and no data set 'none.csv'"),
    "misspelt data set": ((*LINKS, "--data", "corra"), "no file and no data set 'corra'; did you mean 'cora'?"),
    "empty file": ((*LINKS, "--data", "empty.csv"), "empty.csv"),
    "one column": ((*LINKS, "--data", "one.csv"), "one.csv has 1 column: expected two ids and perhaps a weight"),
    "unknown format": ((*LINKS, "--data", "graph.pdf"), "cannot read a graph from"),
    "folder as data": ((*LINKS, "--data", "."), "is a folder, not a file"),
    "NaN": ((*LINKS, "--data", "graph.csv", "--features", "nan.csv"), "nan.csv, line 7: column 'b' of node 5 is nan"),
    "missing features": ((*LINKS, "--data", "graph.csv", "--features", "none.csv"), "none.csv"),
    "few features": (
        (*LINKS, "--data", "graph.csv", "--features", "few.csv"),
        "few.csv has no features for node 1 and 10 others",
    ),
    "label of nobody": (
        ("train", "classification", "--data", "graph.csv", "--labels", "labels.csv"),
        "labels.csv, line 4: no node 99 in the graph, whose nodes are 0 to",
    ),
    "no labels": (("train", "classification", "--data", "cycle"), "classification needs labels, but cycle has none"),
    "unknown space": ((*LINKS, "--data", "cycle", "--space", "R10"), "unknown space 'R10': expected E10, H10"),
    "impossible space": ((*LINKS, "--data", "cycle", "--space", "Q0,0"), "no space 'Q0,0': time_dim must be at least 1, got 0"),
    "unknown model": ((*LINKS, "--data", "cycle", "--model", "hgc"), "no model 'hgc'; did you mean 'hgcn'?"),
    "model elsewhere": ((*LINKS, "--data", "cycle", "--model", "gcn", "--space", "H4"), "gcn lives in a Euclidean space"),
    "foreign option": (
        (*LINKS, "--data", "cycle", "--model", "gcn", "--attention", "gat"),
        "the model gcn has no such option",
    ),
    "directed pairs without time": (
        ("train", "directed-reconstruction", "--data", "graph.csv", "--space", "H10"),
        "directed-reconstruction needs time beside a space, such as M10, M1xH9 or M1xS9, got H10",
    ),
    "directed pairs that lead both ways": (
        ("train", "directed-reconstruction", "--data", "cycle"),
        "expected edges that lead one way; qgcn train reconstruction takes both",
    ),
    "unknown task": (("train", "lnks"), "lnks"),
    "unknown flag": ((*LINKS, "--data", "cycle", "--epocs", "3"), "--epochs"),
    "no number": ((*LINKS, "--data", "cycle", "--epochs", "many"), "--epochs"),
    "no whole number": ((*LINKS, "--data", "cycle", "--patience", "1.5"), "--patience"),
    "out of range": ((*LINKS, "--data", "cycle", "--dropout", "2"), "dropout: input should be less than 1, got 2.0"),
    "not finite": ((*LINKS, "--data", "cycle", "--lr", "inf"), "lr: input should be a finite number, got inf"),
    "flag over file": ((*LINKS, "--config", "small.yaml", "--lr", "0"), "qgcn: lr: input should be greater than 0, got 0.0"),
    "unknown choice": (
        (*LINKS, "--data", "cycle", "--protocol", "any"),
        "protocol: input should be 'leak-free', 'hgcn' or 'hard'",
    ),
    "unknown key": ((*LINKS, "--config", "key.yaml"), "unknown key 'epocs' in key.yaml; did you mean 'epochs'?"),
    "wrong type": ((*LINKS, "--config", "type.yaml"), "epochs in type.yaml: input should be a valid integer"),
    "no keys": ((*LINKS, "--config", "list.yaml"), "list.yaml must hold keys and values"),
    "no YAML": ((*LINKS, "--config", "broken.yaml"), "broken.yaml is not YAML"),
    "no config": ((*LINKS, "--config", "none.yaml"), "no config file none.yaml"),
    "folder as config": ((*LINKS, "--config", "."), ". is a folder, not a file"),
    "config of another task": (
        (*LINKS, "--config", "other.yaml"),
        "other.yaml is for reconstruction, but the command is for links",
    ),
    "out below a file": ((*LINKS, "--data", "cycle", "--out", "graph.csv/run"), "graph.csv is not a folder"),
    "out is a file": ((*LINKS, "--data", "cycle", "--out", "graph.csv"), "graph.csv is not a folder"),
    "out not writable": ((*LINKS, "--data", "cycle", "--out", "/proc/none"), "cannot write to /proc/none: "),
    "out in use": ((*LINKS, "--data", "cycle", "--out", "."), ". is not empty; choose another folder"),
    "diverging": ((*LINKS, "--data", "cycle", "--lr", "1e30", "--out", "a/b"), "training diverged: "),
    "diverging, own folder": ((*LINKS, "--data", "cycle", "--lr", "1e30"), "try a smaller lr"),
    "resume nothing": (("resume", "none"), "none holds no run: there is no none/config.yaml"),
    "resume a file": (("resume", "graph.csv"), "graph.csv holds no run"),
    "resume without folder": (("resume",), "DIR"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said_in_one_line(here, command, case):
    for name, content in FILES.items():
        (here / name).write_text(content)
    arguments, expected = CASES[case]
    assert expected in command.fails(*arguments)


def test_no_gpu_is_said_in_one_line(command, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)  # a process that has seen its GPUs does not look again
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    expected = "device cuda was asked for, but PyTorch sees no GPU; use cpu or auto"
    assert expected in command.fails(*LINKS, "--data", "cycle", "--device", "cuda")


def test_a_folder_with_a_run_is_not_used_again(command):
    command.works(*LINKS, "--data", "cycle", *SMALL, "--out", "run")
    assert "run holds a run already; resume it (qgcn resume run)" in command.fails(*LINKS, "--data", "cycle", "--out", "run")


def test_the_real_process_says_it_too(command, here):
    (here / "graph.csv").write_text(GRAPH)
    arguments, expected = CASES["out below a file"]
    process = command.start(*arguments)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, "")
    command.one_line(err)
    assert expected in err
    assert names(here) == ["graph.csv"]


def test_auto_has_a_space_chosen(command, here, monkeypatch):
    from qgcn.manifolds import spaces_of_dimension
    from qgcn.tasks import LinkPrediction, Rung

    monkeypatch.setattr(LinkPrediction, "rungs", (Rung(1, 2, 1),))
    out = command.works(
        "train", "links", "--data", "stochastic-block", "--space", "auto:2", "--epochs", "3", "--out", "run", "--layers", "1"
    )
    assert "auto:2: " in out
    config = (here / "run" / "config.yaml").read_text()
    assert any(f"space: {name}\n" in config for name in spaces_of_dimension(2, twins=True))
    assert "space must be auto:DIM" in command.fails("train", "links", "--data", "cycle", "--space", "auto:x")


@pytest.mark.parametrize("flag", ["--target-map", "--target-score"])
def test_auto_takes_the_fewest_dimensions_that_reach_a_score(command, here, monkeypatch, flag):
    from qgcn.tasks import Reconstruction, Rung

    monkeypatch.setattr(Reconstruction, "rungs", (Rung(1, 40, 1),))
    (here / "square.csv").write_text("0,1\n1,2\n2,3\n3,0\n")
    out = command.works(
        "train",
        "reconstruction",
        "--data",
        "square.csv",
        "--space",
        "auto:4",
        flag,
        "0.9",
        "--epochs",
        "100",
        "--out",
        "run",
        "--device",
        "cpu",
    )
    assert "2 dimensions are the fewest found to reach mAP 90" in out
    assert "space: S2\n" in (here / "run" / "config.yaml").read_text()
    assert "in S2 (spherical, 2 dimensions), cpu" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--space", "auto", "--target-map", "99"), "target must be above 0 and at most 1, such as 0.99, got 99"),
        (("--space", "H4", "--target-map", "0.9"), "a target score needs --space auto or auto:DIM, got H4"),
        (("--target-score", "0.9"), "a target score needs --space auto or auto:DIM, got no space"),
        (("--space", "auto", "--target-roc-auc", "0.9"), "--target-roc-auc"),
    ],
)
def test_a_target_that_cannot_be_is_refused(command, arguments, message):
    assert message in command.fails("train", "reconstruction", "--data", "cycle", *arguments, "--out", "run")
