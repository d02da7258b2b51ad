"""Tasks by name. A task registers itself where it is defined."""

from typing import TYPE_CHECKING, Any, TypeVar

from qgcn.hints import nearest

if TYPE_CHECKING:
    from qgcn.tasks.task import Task

__all__ = ["TASKS", "find_task", "register_task"]

TASKS: "dict[str, type[Task[Any]]]" = {}
"""All tasks by name, in the order in which they were registered."""

_Task = TypeVar("_Task", bound="type[Task[Any]]")


def register_task(task: _Task) -> _Task:
    """Make a task known by its name, to configs and the command line; a decorator of its class."""
    TASKS[task.name] = task
    return task


def find_task(name: object) -> "type[Task[Any]]":
    """Return the task of a name.

    Raises:
        ValueError: There is none.
    """
    if not isinstance(name, str) or name not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {name!r}{nearest(name, TASKS)}")
    return TASKS[name]
