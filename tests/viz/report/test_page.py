import base64
import json
import re

import numpy as np
import pytest
import torch

from qgcn.viz.report import render, write_report
from reports import HOSTILE, subject_of


def payload(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def array(packed):
    return np.frombuffer(base64.b64decode(packed["data"]), dtype=packed["type"]).reshape(packed["shape"])


def test_report_carries_points_names_and_edges_exactly():
    subject = subject_of(names=HOSTILE)
    data = payload(render([subject]))
    embedded = data["subjects"][0]["embedded"]
    assert embedded["names"] == subject.embedded.names
    np.testing.assert_array_equal(array(embedded["points"]), subject.embedded.points.numpy())
    np.testing.assert_array_equal(array(embedded["edges"]).T, subject.embedded.edges)
    precision = subject.embedded.precision
    worst = embedded["worst"]
    assert precision[worst].tolist() == precision.sort().values[: len(worst)].tolist()


def test_nothing_a_user_named_can_end_the_data():
    text = render([subject_of(names=HOSTILE, words=HOSTILE, name=HOSTILE[0])], {"words": HOSTILE})
    assert text.count("</script>") == 2  # the data's and the script's own
    assert text.count("<script") == 2
    assert "{{" not in text.replace("{{data}}", "")
    assert "\u2028" not in text
    assert "<title>&lt;script&gt;" in text


def test_report_needs_no_other_file():
    text = render([subject_of()])
    outside = re.findall(r"""(?:src|href)\s*=\s*["'](?!data:|#)([^"']*)["']""", text)
    assert outside == []
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text


def test_numbers_that_json_does_not_have_are_null():
    data = payload(render([subject_of(seeds=[{"seed": 0, "test": {"worst_distortion": torch.inf, "map": np.float32(0.5)}}])]))
    assert data["subjects"][0]["seeds"] == [{"seed": 0, "test": {"worst_distortion": None, "map": 0.5}}]


def test_report_is_written_whole_or_not_at_all(tmp_path):
    path = write_report([subject_of()], tmp_path / "a" / "b" / "report.html")
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        write_report([subject_of()], tmp_path / "file" / "report.html")
    with pytest.raises(ValueError, match="at least one run"):
        write_report([], tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()
    assert [each.name for each in (tmp_path / "a" / "b").iterdir()] == ["report.html"]
