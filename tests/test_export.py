"""Files of answers, read back by the programs they are for."""

import csv

import networkx as nx
import numpy as np
import pytest

from qgcn.answer import Answer
from qgcn.export import as_networkx, table_format, write_graphml, write_table, write_word2vec

NAMES = np.array(["plain", "a,b", 'say "hi"', "two\nlines", "blank name", "naïve 名", "=1+1"])


def answer():
    return Answer({"node": NAMES, "x0": np.float32(0.1) * np.arange(len(NAMES), dtype=np.float32), "n": np.arange(len(NAMES))})


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_text_tables_are_read_back_by_csv_and_pandas(suffix, tmp_path):
    import pandas as pd

    path = tmp_path / f"out.{suffix}"
    assert write_table(path, [answer().rows(0, 2), answer().rows(2)]) == len(NAMES)
    mark = "\t" if suffix == "tsv" else ","
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter=mark))
    assert rows[0] == ["node", "x0", "n"]
    assert [row[0] for row in rows[1:]] == NAMES.tolist()
    assert [row[1] for row in rows[1:3]] == ["0.0", "0.1"]  # not 0.10000000149
    frame = pd.read_csv(path, sep=mark)
    assert frame["x0"].astype(np.float32).tolist() == answer()["x0"].tolist()
    assert list(tmp_path.iterdir()) == [path]


def test_parquet_is_read_back(tmp_path):
    import pandas as pd

    path = tmp_path / "out.parquet"
    write_table(path, [answer(), answer()])
    frame = pd.read_parquet(path)
    assert frame["node"].tolist() == NAMES.tolist() * 2
    assert frame["x0"].dtype == np.float32


def test_nothing_is_left_if_a_block_fails(tmp_path):
    def blocks():
        yield answer()
        raise RuntimeError("stopped")

    for suffix in ("csv", "parquet"):
        with pytest.raises(RuntimeError, match="stopped"):
            write_table(tmp_path / f"out.{suffix}", blocks())
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_tells_no_format_and_a_missing_folder_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"expected a name that ends in \.csv, \.tsv, \.parquet"):
        table_format(tmp_path / "out.docx")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_table(tmp_path / "none" / "out.csv", [answer()])


def test_word2vec_is_a_header_and_a_name_with_its_vector_a_line(tmp_path):
    path = tmp_path / "out.txt"
    vectors = np.random.default_rng(0).standard_normal((len(NAMES), 3)).astype(np.float32)
    write_word2vec(path, NAMES, vectors)
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    assert head == f"{len(NAMES)} 3"
    fields = [line.split(" ") for line in lines]
    assert [field[0] for field in fields] == ["plain", "a,b", 'say_"hi"', "two_lines", "blank_name", "naïve_名", "=1+1"]
    assert np.array_equal(np.array([field[1:] for field in fields], dtype=np.float32), vectors)


def test_word2vec_refuses_names_that_become_one(tmp_path):
    with pytest.raises(ValueError, match="'a b' and 'a_b' are both 'a_b'"):
        write_word2vec(tmp_path / "out.txt", np.array(["a b", "a_b"]), np.zeros((2, 1)))


def test_graphml_is_read_back_with_attributes_and_weights(tmp_path):
    import torch

    path = tmp_path / "out.graphml"
    edges = NAMES[np.array([[0, 1], [1, 2]])]
    write_graphml(path, as_networkx(answer(), edges, torch.tensor([0.5, 2.0])))
    graph = nx.read_graphml(path)
    assert set(graph) == set(NAMES.tolist())
    assert graph.nodes["plain"]["n"] == 0
    assert graph.edges["plain", "a,b"]["weight"] == 0.5
    with pytest.raises(ValueError, match="XML does not allow"):
        write_graphml(path, nx.Graph([("a\x00", "b")]))
