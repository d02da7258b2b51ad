import pytest

from qgcn.reproduction import settings
from qgcn.reproduction.paper import NETWORKS, PERCEPTRONS, RECONSTRUCTING
from qgcn.tasks import Config

Q14_2 = next(method for method in NETWORKS if method.space == "Q14,2")


@pytest.mark.parametrize("task", ["links", "classification"])
@pytest.mark.parametrize("method", NETWORKS, ids=lambda method: method.name)
def test_settings_are_those_of_a_config(task, method):
    assert Config.checked(settings.ours(task, method, "cora")).blend is False
    for point in settings.points(3):
        for made in (settings.paper, settings.code):
            config = Config.checked(made(task, method, "airport") | point)
            assert config.degree_features
            assert config.edge_dropout == 0


def test_the_papers_own_network_is_algorithm_1():
    config = Config.checked(settings.paper("links", Q14_2, "cora"))
    assert (config.aggregation, config.projection, config.perturbation, config.decoder) == ("sum", True, 0.02, "distance")
    assert config.beta == -1


def test_the_published_code_takes_the_mean_and_squares_distances():
    config = Config.checked(settings.code("links", Q14_2, "cora"))
    assert (config.aggregation, config.projection, config.decoder, config.beta) == ("mean", False, "squared-distance", -1)
    assert Config.checked(settings.code("classification", Q14_2, "cora")).head == "linear"


def test_networks_without_a_graph_have_no_aggregation():
    for method in PERCEPTRONS:
        Config.checked(settings.paper("classification", method, "cora") | settings.points(1)[0])


def test_points_are_points_of_the_grid_and_begin_with_the_fixed_one():
    found = settings.points(384)
    assert len({tuple(point.items()) for point in found}) == 384
    assert settings.points(5) == found[:5]
    assert found[0] == settings.FIRST | {"feature_dropout": 0.0}
    for point in found:
        assert all(point[name] in values for name, values in settings.GRID.items())
        assert point["feature_dropout"] == point["dropout"]


def test_reconstruction_has_the_objective_asked_for():
    for method in RECONSTRUCTING:
        config = Config.checked(settings.network_of_reconstruction(method, "power", "paper"))
        assert (config.objective, config.skip, config.layers, config.lr) == ("paper", True, 2, 0.01)
        assert config.projection is method.is_indefinite
    assert Config.checked(settings.shallow("Q7,3", "power")).epochs == 2000


@pytest.mark.parametrize("task", settings.ABLATIONS)
def test_every_deviation_changes_our_settings(task):
    network = settings.plain_network(Q14_2, "cora", "neighbours")
    usual = network if task == "reconstruction" else settings.ours(task, Q14_2, "cora")
    for name, change in settings.ABLATIONS[task].items():
        changed = Config.checked(usual | change) != Config.checked(usual)
        assert changed or name == "pretrained by links"
