import base64

import numpy as np
import pytest
import torch

from qgcn.answer import Answer
from qgcn.manifolds import Euclidean
from qgcn.tasks.insights import Listing
from qgcn.viz.report import payload
from qgcn.viz.report.payload import payload_of
from reports import subject_of


class Doubled(Euclidean):
    """A space that the page does not know."""

    kind = "D"
    factors = None

    def pairwise_dist(self, x, y=None):
        return 2 * super().pairwise_dist(x, y)


def array(packed):
    return np.frombuffer(base64.b64decode(packed["data"]), dtype=packed["type"]).reshape(packed["shape"])


def embedded_of(subject):
    return payload_of([subject], None)["subjects"][0]["embedded"]


@pytest.fixture(params=[512, 7])
def unknown(request, monkeypatch):
    monkeypatch.setattr(payload, "_ROWS", request.param)  # distances come in blocks of rows
    subject = subject_of("E3", count=30)
    object.__setattr__(subject.embedded, "space", Doubled(3))
    return subject


def test_a_known_space_travels_as_its_formulas():
    found = embedded_of(subject_of("H2xS2"))
    assert [part["kind"] for part in found["space"]["parts"]] == ["H", "S"]
    assert found["space"]["curvatures"] == (-1.0, 1.0)
    assert found["measured"] is None
    assert found["exact"]["coordinates"] is None


def test_an_unknown_space_travels_as_its_distances(unknown):
    found, embedded = embedded_of(unknown), unknown.embedded
    distance = embedded.space.pairwise_dist(embedded.points).fill_diagonal_(torch.inf)
    order = distance.argsort(dim=1, stable=True)
    np.testing.assert_array_equal(array(found["measured"]["nearest"]), order[:, :10])
    np.testing.assert_allclose(array(found["measured"]["distance"]), distance.sort(dim=1).values[:, :10])
    source, target = embedded.edges
    np.testing.assert_allclose(array(found["measured"]["length"]), distance[source, target])
    rank = order.argsort(dim=1) + 1
    expected = torch.stack((rank[source, target], rank[target, source]), dim=1)
    np.testing.assert_array_equal(array(found["measured"]["rank"]), expected)
    np.testing.assert_allclose(array(found["exact"]["coordinates"]), embedded.exact.coordinates, rtol=1e-6)


def test_scores_travel_with_their_titles():
    subject = subject_of(titles={"roc_auc": "ROC AUC"}, errors=("gap",), held_out=True)
    (found,) = payload_of([subject], None)["subjects"]
    assert (found["titles"], found["errors"], found["held_out"]) == ({"roc_auc": "ROC AUC"}, ["gap"], True)
    assert found["curve_metric"] == found["metric"] == "roc_auc"


def test_listings_travel_with_the_kind_of_each_column():
    table = Answer(
        {
            "node": np.array([7, 2]),
            "sure": np.array([0.5, 1 / 3]),
            "count": np.array([1, 2]),
            "split": np.array(["test", "none"]),
        }
    )
    listing = Listing("to-check", "To check", "Look.", table, shares=("sure",))
    (found,) = payload_of([subject_of(listings=[listing])], None)["subjects"][0]["listings"]
    assert (found["name"], found["title"], found["about"]) == ("to-check", "To check", "Look.")
    assert [(each["name"], each["kind"], each["values"]) for each in found["columns"]] == [
        ("node", "node", ["7", "2"]),  # names are text, as those of the embedding
        ("sure", "share", [0.5, 1 / 3]),
        ("count", "number", [1, 2]),
        ("split", "text", ["test", "none"]),
    ]


def test_the_worst_nodes_come_in_their_own_order_where_they_are_alike():
    precision = torch.full((2000,), 0.5)
    precision[7], precision[1500], precision[3] = 1.0, 0.1, torch.nan
    found = payload._worst(precision)
    assert found[0] == 1500
    assert found[1:] == sorted(found[1:])
    assert not {3, 7} & set(found)
