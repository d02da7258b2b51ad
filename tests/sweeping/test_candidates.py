"""Candidates: what is searched for which model, and what is drawn."""

from dataclasses import replace

import pytest

from qgcn.sweeping.candidates import draw, parse_candidate, widened

FIXED = {"task": "links", "data": "stochastic-block", "epochs": 3}


def test_only_what_a_model_has_is_searched():
    qgcn, gcn = (parse_candidate(name, FIXED).ranges for name in ("qgcn:Q3,1", "gcn:E4"))
    assert set(qgcn) - set(gcn) == {"beta"}
    sage = parse_candidate("sage:E4", FIXED).ranges
    assert set(gcn) - set(sage) == {"aggregation"}
    assert all(gcn[name] == qgcn[name] for name in gcn)
    shallow = parse_candidate("shallow:Q3,1", FIXED | {"task": "reconstruction"}).ranges
    assert "layers" not in shallow
    assert "lr" in shallow


@pytest.mark.parametrize(
    ("name", "searched"),
    [("qgcn:Q3,2", True), ("hgcn:H4", True), ("propagation:Q3,2", False), ("deep:E4", False), ("gcn:E4", False)],
)
def test_a_head_is_searched_where_it_makes_another_model(name, searched):
    assert ("head" in parse_candidate(name, FIXED | {"task": "classification"}).ranges) == searched


@pytest.mark.parametrize(
    ("name", "fixed", "searched"),
    [
        ("shallow:M10", {"task": "entailment"}, False),
        ("shallow:M1xH9", {"task": "entailment"}, True),
        ("shallow:AdS10", {"task": "entailment"}, True),
        ("shallow:M10", {"task": "directed-reconstruction"}, False),
        ("shallow:M1xS9", {"task": "directed-reconstruction"}, True),
        ("shallow:E10", {"task": "reconstruction"}, False),
        ("shallow:E5xH5", {"task": "reconstruction"}, True),
        ("qgcn:E8", {}, False),
        ("qgcn:E8", {"hidden": "Q7,2"}, True),
        ("qgcn:E8", {"projection": True}, True),
    ],
)
def test_beta_is_searched_where_it_bends_something(name, fixed, searched):
    assert ("beta" in parse_candidate(name, FIXED | fixed).ranges) == searched


def test_encoders_may_name_values_of_their_own_options():
    deep = parse_candidate("deep:Q3,1", FIXED).ranges
    assert deep["layers"].choices == (4, 8, 16)
    assert parse_candidate("qgcn:Q3,1", FIXED).ranges["layers"].choices == (1, 2, 3)
    for task in ("links", "classification"):
        ranges = parse_candidate("propagation:Q3,1", FIXED | {"task": task}).ranges
        assert ranges["steps"].choices == (2, 3, 5, 8)
    assert "steps" not in parse_candidate("propagation:Q3,1", FIXED | {"steps": 4}).ranges


def test_what_is_fixed_is_not_searched():
    fixed = parse_candidate("qgcn:Q3,1", FIXED | {"lr": 0.5, "hidden": "Q7,1"})
    assert not {"lr", "width"} & set(fixed.ranges)
    assert fixed.config({}).lr == 0.5


def test_models_that_share_a_range_share_the_draw():
    qgcn, gcn = (parse_candidate(name, FIXED).ranges for name in ("qgcn:Q3,1", "gcn:E4"))
    for key in ("0 0", "0 1"):
        assert {name: draw(qgcn, name, key) for name in gcn} == {name: draw(gcn, name, key) for name in gcn}
    assert draw(qgcn, "lr", "0 0") != draw(qgcn, "lr", "0 1")


def test_a_width_is_a_hidden_space():
    config = parse_candidate("qgcn:Q3,1", FIXED).config({"width": 2, "dropout": 0.1 * 3})
    assert (config.hidden, config.dropout) == ("Q7,1", 0.3)
    assert (widened("Q6,2", 2), widened("H2xS3", 2)) == ("Q12,4", "H4xS6")


def test_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match="did you mean 'qgcn'"):
        parse_candidate("qgcm:Q3,1", FIXED)


def test_a_search_may_be_of_some_settings_alone():
    some = replace(parse_candidate("propagation:Q3,1", FIXED), only=("lr", "steps", "nothing"))
    assert set(some.ranges) == {"lr", "steps"}
