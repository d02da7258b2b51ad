"""Flags from the settings of a task."""

import inspect

import pytest
from pydantic import BaseModel, Field

from qgcn.cli.flags import _plain, flags_of, option, shown
from qgcn.tasks import TASKS
from qgcn.tasks.config import settings_of


def given(parameter):
    """Return type, flags, help and panel of a parameter."""
    kind, (about,) = parameter.annotation.__origin__, parameter.annotation.__metadata__
    return kind, (about.default, *about.param_decls), about.help, about.rich_help_panel


@pytest.mark.parametrize("task", TASKS)
def test_every_setting_but_the_task_is_a_flag_that_is_none_if_not_given(task):
    flags = {flag.name: flag for flag in flags_of(task)}
    assert flags.keys() == settings_of(task).keys() - {"task"}
    for flag in flags.values():
        assert flag.default is None
        assert flag.kind is inspect.Parameter.KEYWORD_ONLY
        assert given(flag)[1][0].split("/")[0] == "--" + flag.name.replace("_", "-")


@pytest.mark.parametrize("task", TASKS)
def test_the_help_of_a_flag_states_the_default_of_its_task(task):
    flags = {flag.name: flag for flag in flags_of(task)}
    for name, (field, panel) in settings_of(task).items():
        if name == "task":
            continue
        default = TASKS[task].config_type.defaults.get(name, field.default)
        _, _, about, where = given(flags[name])
        assert where == panel
        told = not field.is_required() and default not in (None, "")
        assert (f"default: {shown(default)})." in about) == told, name


def test_a_choice_lists_its_values_and_a_model_its_names():
    flags = {flag.name: flag for flag in flags_of("links")}
    assert "(auto, cpu, cuda; default: auto)." in given(flags["device"])[2]
    assert "qgcn, qnn, propagation, qgat, deep, transformer, hgcn" in given(flags["model"])[2]
    assert given(flags["data"])[2] == "Name of a data set, or path of a graph: CSV, TSV, Parquet, npz, GraphML."


def test_a_switch_can_be_turned_off():
    kind, flags, about, panel = given(option("row_sum", bool, "Divide.", None, "Data"))
    assert flags == ("--row-sum/--no-row-sum",)
    assert (kind, about, panel) == (bool | None, "Divide.", "Data")
    assert given(option("row_sum", int, "Divide.", "N"))[1] == ("--row-sum",)


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "yes"), (False, "no"), (0.0001, "0.0001"), (1e-12, "1e-12"), (2.0, "2"), (3, "3"), ("sym", "sym")],
)
def test_values_are_written_plainly(value, text):
    assert shown(value) == text


def test_flags_are_read_as_plain_types():
    class Some(BaseModel):
        a: int | None = None
        b: float = 1.0
        c: bool | None = Field(None)
        d: str | None = None
        e: list[int] = []

    kinds = {name: _plain(field.annotation) for name, field in Some.model_fields.items()}
    assert kinds == {"a": int, "b": float, "c": bool, "d": str, "e": str}
