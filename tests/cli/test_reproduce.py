import json
import signal
import time
from pathlib import Path

import pytest

from qgcn.cli.reproduce import WHAT
from qgcn.reproduction.tables import TABLES


def test_everything_that_has_cells_can_be_asked_for():
    assert sorted(WHAT) == sorted(TABLES)


def test_a_table_is_measured_once_and_printed(command, here):
    first = command.works("reproduce", "appendix", "--quick", "--results", "lines", "--device", "cpu")
    assert "| ring-of-trees | 180 | 180 | 0 | 0 | 12 |" in first
    assert "2 lines written" in first
    again = command.works("reproduce", "appendix", "--quick", "--results", "lines")
    assert "lines written" not in again
    assert "Nothing is left to measure." in again
    assert len((here / "lines" / "quick" / "appendix.jsonl").read_text().splitlines()) == 4


def test_graphs_and_settings_can_be_picked(command, here):
    given = ("reproduce", "table3", "--quick", "--seeds", "1", "--results", "lines", "--device", "cpu", "--setting", "ours")
    assert "8 lines written" in command.works(*given, "--data", "stochastic-block")
    lines = map(json.loads, (here / "lines" / "quick" / "table3.jsonl").read_text().splitlines())
    assert {line["setting"] for line in lines if "setting" in line} == {"ours"}


def test_names_of_settings_may_hold_a_star(command, here):
    given = ("reproduce", "table2", "--plan", "--results", "lines", "--seeds", "1", "--data", "cora", "--setting")
    counts = [int(command.works(*given, name).split()[0]) for name in ("ours", "ours; *", "ours; plain *", "code", "paper")]
    assert counts == [39, 30, 9, 26 + 26 * 6, 39 + 26 * 6]


def test_methods_can_be_picked(command, here):
    given = ("reproduce", "table2", "--plan", "--results", "lines", "--seeds", "1", "--data", "cora", "--setting", "code")
    counts = [
        int(command.works(*given, "--method", *names).split()[0])
        for names in (("GCN",), ("Q-GCN*",), ("GCN", "--method", "GAT"))
    ]
    assert counts == [2 * 7, 6 * 2 * 7, 2 * 2 * 7]


def test_a_plan_measures_nothing(command, here):
    told = command.works("reproduce", "all", "--plan", "--results", "lines")
    assert "seeds of cells are left" in told
    assert list(here.iterdir()) == []


def test_a_limit_of_no_time_measures_nothing(command, here):
    told = command.works("reproduce", "table3", "--quick", "--results", "lines", "--limit", "0")
    assert "seeds of cells are left" in told
    assert not (here / "lines" / "quick" / "table3.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tabel1",), "did you mean 'table1'?"),
        (("table3", "--data", "kora"), "no cell of table3 has 'kora'"),
        (("table3", "--setting", "theirs"), "no cell of table3 has 'theirs'"),
        (("table3", "--method", "GNN"), "no cell of table3 has 'GNN' (known: HNN, MLP, Q-NN"),
        (("table3", "--device", "tpu"), "device must be auto, cpu or cuda, got 'tpu'"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(command, arguments, message):
    assert message in command.fails("reproduce", *arguments, "--results", "lines")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are listed by Linux alone")
def test_workers_end_with_the_process_that_started_them(command, here):
    process = command.start("reproduce", "table3", "--quick", "--results", "lines", "--device", "cpu", "--jobs", "2")
    path = here / "lines" / "quick" / "table3.jsonl"
    while not path.exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) >= 2
    process.send_signal(signal.SIGKILL)
    process.communicate()
    while any(Path(f"/proc/{child}").exists() for child in children):  # or the test is killed for its time
        time.sleep(0.05)


def test_killed_and_restarted_it_goes_on(command, here):
    given = ("reproduce", "table3", "--quick", "--results", "lines", "--device", "cpu", "--setting", "ours")
    process = command.start(*given)
    path = here / "lines" / "quick" / "table3.jsonl"
    while not path.exists() or path.read_text().count('"seconds"') < 3:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = path.read_text()
    kept = before[: before.rindex("\n") + 1]
    told = command.works(*given)
    assert "Nothing is left to measure." in told
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    measured = [(line["hash"], line["seed"]) for line in lines if "seed" in line]
    assert path.read_text().startswith(kept)
    assert len(measured) == len(set(measured)) == 16
