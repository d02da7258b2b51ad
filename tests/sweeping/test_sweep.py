"""Sweeps as a whole: small, real ones."""

import errno
import json
import os
import signal

import pytest

from qgcn.locks import FileLock, Locked
from qgcn.sweeping import Sweep, parse_candidate
from qgcn.sweeping.study import close_storage, open_storage
from qgcn.tasks import Config, read_config

FIXED = {"task": "links", "data": "stochastic-block", "epochs": 5, "seeds": 2, "device": "cpu"}


def sweep_in(folder, *names, **options):
    return Sweep([parse_candidate(name, FIXED) for name in names or ("gcn:E4",)], folder, **options)


def plain(rows):
    return [(row.model, row.trial, row.settings, row.scores) for row in rows]


def test_a_sweep_goes_on_as_if_it_had_not_stopped(tmp_path):
    whole = sweep_in(tmp_path / "whole", trials=3).run()
    sweep_in(tmp_path / "parts", trials=1).run()
    assert plain(sweep_in(tmp_path / "parts", trials=3).run()) == plain(whole)
    lines = [json.loads(line) for line in (tmp_path / "parts" / "trials.jsonl").read_text().splitlines()]
    assert [line["validation"] for line in lines] == [sum(row.scores) / 2 for row in whole]
    assert {path.name for path in (tmp_path / "parts").iterdir()} == {
        "best", "best.yaml", "journal.log", "study.md", "trials.jsonl"
    }  # fmt: skip


def test_trials_in_a_folder_of_its_own_are_nobody_else_s(tmp_path):
    for url in (None, f"sqlite:///{tmp_path}/trials.db"):
        sweep = sweep_in(tmp_path, storage=url)
        storage = open_storage(tmp_path, url)
        sweep._open(storage, [{}])
        close_storage(storage)
        assert [study.alone for study in sweep._studies] == [url is None]


def test_the_best_settings_are_a_config(tmp_path):
    rows = sweep_in(tmp_path, "gcn:E4", "qgcn:Q3,1", trials=2).run()
    best = max(rows, key=lambda row: row.validation)
    config = Config.checked(read_config(tmp_path / "best.yaml"))
    assert (config.model, config.lr) == (best.model, float(f"{best.settings['lr']:.6g}"))
    assert {path.name for path in (tmp_path / "best").iterdir()} == {"gcn-E4.yaml", "qgcn-Q3,1.yaml"}
    assert f"| 1 | {best.model} | {best.space} |" in (tmp_path / "study.md").read_text()


def test_two_processes_one_of_them_killed(tmp_path, monkeypatch):
    from qgcn.sweeping import workers

    give, killed = workers.Processes.give, []

    def give_and_kill(self, trial, config):
        give(self, trial, config)
        if not killed:
            killed.append(self.pids[0])
            os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(workers.Processes, "give", give_and_kill)
    sweep = sweep_in(tmp_path, trials=4, jobs=2)
    rows = sweep.run()
    assert sweep.recovered == 1
    assert [row.state for row in rows] == ["complete"] * 4
    alone = sweep_in(tmp_path / "alone", trials=4).run()
    drawn = [sorted(json.dumps(row.settings) for row in each) for each in (rows, alone)]
    assert drawn[0] == drawn[1]


def test_a_database_is_closed(tmp_path):
    """No connection is left, of which Python 3.13 would complain; trials can be asked for all the same."""
    given = sweep_in(tmp_path, trials=1, storage=f"sqlite:///{tmp_path}/trials.db")
    rows = given.run()
    storage = given._studies[0]._study._storage._backend
    assert storage.engine.pool.checkedin() == 0
    assert given.rows() == rows
    close_storage(storage)


def test_one_process_at_a_time_writes(tmp_path):
    with FileLock(tmp_path / "lock").held(), pytest.raises(Locked):
        sweep_in(tmp_path).run()


@pytest.mark.parametrize(("given", "named"), [({}, "ROC AUC"), ({"select": "mrr"}, "MRR")])
def test_scores_are_called_by_what_settings_are_chosen_by(tmp_path, given, named):
    assert Sweep([parse_candidate("gcn:E4", FIXED | given)], tmp_path).metric == named


def test_a_model_is_named_once(tmp_path):
    with pytest.raises(ValueError, match="gcn:E4 is named twice"):
        sweep_in(tmp_path, "gcn:E4", "gcn:E4")


def test_links_lead_nowhere(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "best").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="best is a link to another place"):
        sweep_in(tmp_path / "s", trials=1).run()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_where_a_folder_should_be_is_named(tmp_path):
    (tmp_path / "best").write_text("mine")
    with pytest.raises(NotADirectoryError, match="best is not a folder"):
        sweep_in(tmp_path, trials=1).run()


def test_files_of_something_else_are_not_overwritten(tmp_path):
    (tmp_path / "best.yaml").write_text("mine")
    with pytest.raises(FileExistsError, match=r"holds best\.yaml, but no journal\.log"):
        sweep_in(tmp_path, trials=1).run()
    assert [path.name for path in tmp_path.iterdir()] == ["best.yaml"]
    assert (tmp_path / "best.yaml").read_text() == "mine"


def test_a_full_disk_costs_no_trial(tmp_path, monkeypatch):
    """The disk is full in the middle of a line of the journal; what came before is kept, and gone on with."""
    from qgcn.sweeping.journal import Journal

    write, left = Journal._write, [60]

    def half(journal, content):
        left[0] -= 1
        if left[0] < 0:
            write(journal, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(journal, content)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "_write", half)
        with pytest.raises(OSError, match=r"cannot write .*journal\.log: No space left on device"):
            sweep_in(tmp_path / "full", trials=3).run()
    assert plain(sweep_in(tmp_path / "full", trials=3).run()) == plain(sweep_in(tmp_path / "whole", trials=3).run())


def test_encoders_with_ranges_of_their_own_are_searched(tmp_path):
    rows = sweep_in(tmp_path, "propagation:Q3,1", trials=1).run()
    assert rows[0].state == "complete"
    assert rows[0].settings["steps"] in (2, 3, 5, 8)
    assert sweep_in(tmp_path, "propagation:Q3,1", trials=1).run() == rows
