"""Options that name columns: the same for every command that reads a table of edges."""

import typer
from typer.testing import CliRunner

from qgcn.cli.columns import Source, Target, Weight


def test_columns_are_named_or_numbered_and_not_given_by_default():
    app, seen = typer.Typer(), []

    @app.command()
    def read(source: Source = None, target: Target = None, weight: Weight = None) -> None:
        seen.append((source, target, weight))

    for arguments in ([], ["--source", "who", "--target", "3", "--weight", "how much"]):
        assert CliRunner().invoke(app, arguments).exit_code == 0
    assert seen == [(None, None, None), ("who", "3", "how much")]
