"""One schema for files, flags and Python; what is wrong is told in one line that names the key."""

import copy
import pickle

import pytest
import yaml

from qgcn.training import Config, read_config

LEAST = {"task": "links", "data": "tree"}


def test_config_keeps_what_is_given_and_fills_the_rest():
    config = Config.checked(LEAST | {"space": "H8", "model": "hgcn", "epochs": "7", "lr": "1e-2"})
    assert (config.space, config.epochs, config.lr, config.layers) == ("H8", 7, 0.01, 2)


def test_config_takes_the_space_of_the_model():
    assert [Config.checked(LEAST | {"model": name}).space for name in ("qgcn", "gcn")] == ["Q15,1", "E16"]


def test_config_survives_yaml(tmp_path):
    config = Config.checked(LEAST | {"patience": 3, "beta": -4, "space": "Q4,2xE4"})
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config.model_dump()))
    assert Config.checked(read_config(tmp_path / "c.yaml")) == config


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"epocs": 3}, "unknown key 'epocs' in c.yaml; did you mean 'epochs'?"),
        (
            {"epochs": "many"},
            "epochs in c.yaml: input should be a valid integer, unable to parse string as an integer, got 'many'",
        ),
        ({"epochs": 0}, "epochs in c.yaml: input should be greater than or equal to 1, got 0"),
        ({"epochs": [1]}, "epochs in c.yaml: input should be a valid integer, got [1]"),
        ({"lr": float("nan")}, "lr in c.yaml: input should be"),
        ({"lr": float("inf")}, "lr in c.yaml: input should be a finite number, got inf"),
        ({"beta": 1}, "beta in c.yaml: input should be less than 0, got 1"),
        ({"dropout": 1}, "dropout in c.yaml: input should be less than 1, got 1"),
        ({"aggregation": "max"}, "aggregation in c.yaml: input should be 'sum', 'mean' or 'sym', got 'max'"),
        ({"data": " "}, "data in c.yaml: a data set or a file is needed, got ' '"),
        ({"data": None}, "data in c.yaml: input should be a valid string, got None"),
        ({"space": "R10"}, "unknown space 'R10'"),
        ({"space": "Q0,0"}, "no space 'Q0,0': time_dim must be at least 1, got 0"),
        ({"space": ""}, "space must name a space such as Q15,1, got an empty name"),
        ({"hidden": "Z3"}, "unknown space 'Z3'"),
        ({"model": "hgc"}, "no model 'hgc'; did you mean 'hgcn'?"),
        ({"model": "hgcn", "space": "Q7,3"}, "hgcn lives in"),
        ({"skip": True, "space": "E4", "hidden": "E8"}, "a skip connection needs layers of one size"),
        ({"model": "shallow", "task": "links"}, "the model shallow learns coordinates of nodes, nothing for links; try qgcn"),
        ({"model": "shallow", "task": "reconstruction", "one_hot": True}, "one_hot has no effect on the model shallow"),
        ({"model": "shallow", "task": "reconstruction", "weight_decay": 0.1}, "weight_decay has no effect"),
        ({"model": "shallow", "task": "reconstruction", "edge_dropout": 0.3}, "edge_dropout has no effect"),
        (
            {"model": "shallow", "task": "reconstruction", "aggregation": "mean"},
            "aggregation in c.yaml: the model shallow has no",
        ),
        ({"model": "shallow", "task": "reconstruction", "layers": 3}, "layers in c.yaml: the model shallow has no"),
        ({"source": 1.5}, "source in c.yaml: input should be"),
        ({"task": "reconstruction", "split": "s.csv"}, "split in c.yaml is a setting of classification and links, not of rec"),
        (
            {"task": "reconstruction", "val": 0.3},
            "val in c.yaml is a setting of classification, directed-links, entailment and links, not of reconstruction",
        ),
        ({"convolve": 0.1}, "the key 'convolve' in c.yaml is gone, coordinates are not smoothed"),
    ],
)
def test_config_names_what_is_wrong(values, expected):
    with pytest.raises(ValueError, match=r".") as error:
        Config.checked(LEAST | values, "c.yaml")
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


def test_columns_are_names_or_numbers_and_belong_to_the_problem():
    config = Config.checked(LEAST | {"source": "buyer", "target": 3, "weight": "4"})
    assert (config.source, config.target, config.weight) == ("buyer", 3, "4")
    assert {"source", "target", "weight", "val", "test", "split"} <= set(config.of_problem())


def test_config_names_the_file_only_for_what_is_in_it():
    with pytest.raises(ValueError, match=r"^epochs: input should be greater"):
        Config.checked(LEAST | {"epochs": 0}, "c.yaml", elsewhere=["epochs"])


def test_keys_of_other_tasks_and_models_are_taken_at_their_defaults_only():
    assert not hasattr(Config.checked(LEAST | {"head": "convolution", "objective": "neighbours", "confine": 0.2}), "head")
    with pytest.raises(ValueError, match=r"^head in c.yaml is a setting of classification, not of links$"):
        Config.checked(LEAST | {"head": "linear"}, "c.yaml")
    with pytest.raises(ValueError, match=r"^beta: the model gat has no such option$"):
        Config.checked(LEAST | {"model": "gat", "beta": -4})


def test_config_needs_a_task():
    with pytest.raises(ValueError, match=r"^task must be one of .*links.*, got None$"):
        Config.checked({"data": "tree"})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"epochs: [1, 2", "is not YAML: .* \\(line 1\\)"),
        (b"a: 1\n\tb: 2\n", "is not YAML: .* \\(line 2\\)"),
        (b"\x80\x81\x82", "is not YAML: it is no text"),
        (b"- epochs\n- lr\n", "must hold keys and values such as 'epochs: 100', got list"),
        (b"", "must hold keys and values such as 'epochs: 100', got nothing"),
    ],
)
def test_read_config_tells_what_is_no_config(tmp_path, content, expected):
    (tmp_path / "c.yaml").write_bytes(content)
    with pytest.raises(ValueError, match=expected) as error:
        read_config(tmp_path / "c.yaml")
    assert "\n" not in str(error.value)


def test_read_config_tells_what_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match="no config file"):
        read_config(tmp_path / "none.yaml")
    with pytest.raises(IsADirectoryError, match=r"is a folder, not a file$"):
        read_config(tmp_path)


def test_a_config_travels_to_other_processes_and_is_copied():
    config = Config.checked(LEAST | {"space": "Q4,2", "val": 0.1})
    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301
    assert copy.deepcopy(config) == config


def test_a_config_is_not_built_without_its_task_and_model():
    with pytest.raises(ValueError, match=r"build it with Config\.checked"):
        Config(task="links", data="tree")


@pytest.mark.parametrize("share", ["val", "test"])
def test_nothing_held_out_is_refused_before_anything_is_trained(share):
    with pytest.raises(ValueError, match=f"{share}: input should be greater than 0, got 0"):
        Config.checked(LEAST | {share: 0})
