"""A short run of the fuzzer, always the same; ``make fuzz`` is the long one."""

from importlib.util import find_spec

import pytest

from fuzz.__main__ import main
from fuzz.mutations import sealed
from fuzz.readers import READERS


def test_every_reader_reads_or_refuses_in_one_line(capsys):
    failed = main(["--count", "1500", "--without-run"])
    shown = capsys.readouterr().out
    assert failed == 0, shown
    assert all(name in shown for name in READERS)


@pytest.mark.skipif(find_spec("qgcn.seals") is None, reason="files of a run without checksums are not checked in full")
def test_the_files_of_a_run_are_read_or_refused_in_one_line(capsys):
    assert main(["--count", "600"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", READERS)
def test_the_corpus_itself_is_read(name, tmp_path):
    for source in READERS[name].corpus:
        path = tmp_path / source.name
        path.write_bytes(source.read_bytes().split(b"\n")[0] if name == "spaces" else source.read_bytes())
        READERS[name].read(path)


def test_a_seal_is_filled_in_again():
    made = sealed(b"# qgcn-file 2 sha256=" + b"a" * 64 + b"\nx: 1\n")
    assert made == sealed(made)
    assert made != sealed(made.replace(b"x: 1", b"x: 2"))
    assert sealed(b"plain") == b"plain"
