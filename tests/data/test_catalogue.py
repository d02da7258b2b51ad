"""The list of data sets: sizes, checksums, addresses, and where files are looked for."""

import os
from pathlib import Path

import pytest

from qgcn.data import datasets
from qgcn.data.catalogue import CATALOGUE, GENERATORS, data_root

ROOT = Path(os.environ.get("QGCN_DATA") or Path(__file__).parents[3] / "shared" / "data")


def test_root_is_the_argument_then_the_variable_then_a_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("QGCN_DATA", str(tmp_path / "variable"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert data_root(tmp_path / "argument") == tmp_path / "argument"
    assert data_root() == tmp_path / "variable"
    monkeypatch.delenv("QGCN_DATA")
    assert data_root() == tmp_path / "cache" / "qgcn"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_root() == tmp_path / "home" / ".cache" / "qgcn"


def test_every_published_file_is_pinned_and_fetched_over_https():
    for entry in CATALOGUE.values():
        assert entry.files
        assert all(len(checksum) == 64 for checksum in entry.files.values())
        assert entry.url is None or (entry.url.startswith("https://") and entry.url.endswith("/"))


def test_checksums_are_those_of_the_data_folder():
    if not (ROOT / "SHA256SUMS").is_file():
        pytest.skip(f"no SHA256SUMS in {ROOT}")
    sums = dict(reversed(line.split()) for line in (ROOT / "SHA256SUMS").read_text().splitlines())
    for entry in CATALOGUE.values():
        for file, checksum in entry.files.items():
            assert entry.joined or sums[f"./{entry.folder}/{file}"] == checksum


def test_datasets_lists_each_name_once_and_generated_graphs_last(tmp_path):
    entries = datasets(tmp_path)
    assert [entry.name for entry in entries] == [*CATALOGUE, *GENERATORS]
    assert [entry.name for entry in entries if entry.local] == list(GENERATORS)
    assert [entry.name for entry in entries if entry.directed] == [
        "wordnet-nouns",
        "wordnet-entailment",
        "cora-ml",
        "citeseer-directed",
    ]


def test_a_data_set_is_local_once_all_its_files_are_there(tmp_path):
    def is_local():
        return next(entry.local for entry in datasets(tmp_path) if entry.name == "cora")

    (tmp_path / "cora").mkdir()
    *files, last = CATALOGUE["cora"].files
    for file in files:
        (tmp_path / "cora" / file).touch()
    assert not is_local()
    (tmp_path / "cora" / last).touch()
    assert is_local()


def test_a_data_set_is_local_if_a_file_that_holds_all_of_it_is(tmp_path):
    def is_local():
        return next(entry.local for entry in datasets(tmp_path) if entry.name == "wordnet-entailment")

    (tmp_path / "wordnet-entailment").mkdir()
    assert not is_local()
    (tmp_path / "wordnet-entailment" / "wordnet-entailment.npz").touch()
    assert is_local()
