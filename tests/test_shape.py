"""The public shape: what others rely on changes on purpose, and is announced."""

import difflib
import subprocess
import sys

import qgcn
import shape


def test_public_names_and_signatures_are_those_on_record():
    # in a process of its own: PyTorch Geometric adds methods to layers that were compiled or made heterogeneous
    asked = subprocess.run([sys.executable, shape.__file__], capture_output=True, text=True, check=True)
    recorded, found = shape.RECORD.read_text().splitlines(), asked.stdout.splitlines()
    changes = [line for line in difflib.unified_diff(recorded, found, "recorded", "found", lineterm="", n=0) if line[0] in "+-"]
    assert not changes, "announce the change in CHANGELOG.md, then run make shape:\n" + "\n".join(changes)


def test_the_record_tells_arguments_defaults_and_members():
    found = shape.public_shape()
    assert any(line.startswith("qgcn.load_run(folder") for line in found)
    assert any(line.startswith("qgcn.PseudoHyperboloid(space_dim, time_dim") for line in found)
    assert "qgcn.manifolds.Space.describe(self)" in found
    assert len(found) == len(set(found))


def test_a_changed_default_and_a_lost_name_are_seen(monkeypatch):
    before = shape.public_shape()

    def parse_space(name, *, beta=-2.0, learnable=False):
        return None

    monkeypatch.setattr(qgcn.manifolds, "parse_space", parse_space)
    monkeypatch.setattr(qgcn.data, "__all__", qgcn.data.__all__[1:])
    lost = set(before) - set(shape.public_shape())
    assert "qgcn.manifolds.parse_space(name, *, beta=-1.0, learnable=False)" in lost
    assert any(line.startswith("qgcn.data.Dataset") for line in lost)


def test_the_citation_names_the_version():
    assert f"\nversion: {qgcn.__version__}\n" in (shape.RECORD.parent.parent / "CITATION.cff").read_text()
