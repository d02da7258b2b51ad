"""``qgcn datasets``."""

from qgcn.data import datasets


def test_datasets_lists_names_that_train_knows(here, command):
    (here / "power").mkdir()
    (here / "power" / "power.edges.csv").write_text("")
    rows = [line.replace("│", " ").split() for line in command.works("datasets", "--root", here).splitlines() if "│" in line]
    table = {row[0]: row[1:] for row in rows}
    assert table["cora"] == ["2,708", "5,278", "1,433", "7", "no"]
    assert table["power"] == ["4,941", "6,594", "yes"]
    assert table["torus-with-trees"] == ["252", "288", "generated"]


def test_every_name_is_listed_once_and_what_the_columns_mean_is_said(here, command):
    out = command.works("datasets", "--root", here)
    first = [line.replace("│", " ").split()[0] for line in out.splitlines() if "│" in line]
    assert first == [entry.name for entry in datasets(here)]
    assert "Missing data sets are downloaded, except wordnet-nouns and the directed citations" in out
