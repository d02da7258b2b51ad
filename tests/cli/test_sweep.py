"""``qgcn sweep``: what it shows, what it writes, what it refuses."""

QUICK = ("--data", "stochastic-block", "--epochs", "4", "--seeds", "2")


def test_a_sweep_and_a_training_with_its_best(command, here):
    out = command.works("sweep", "links", *QUICK, "--models", "gcn:E4", "mlp:E4", "--trials", "1", "--out", "s")
    assert "2 complete" in out
    assert "qgcn train links --config s/best.yaml" in out
    assert "ROC AUC" in command.works("train", "links", "--config", "s/best.yaml", "--no-yardsticks")


def test_bad_input_is_one_line(command, monkeypatch):
    assert "no models" in command.fails("sweep", "links", *QUICK)
    assert "no data" in command.fails("sweep", "links", "--models", "gcn:E4")
    assert "no model 'gcm'" in command.fails("sweep", "links", *QUICK, "--models", "gcm:E4")
    assert "trials" in command.fails("sweep", "links", *QUICK, "--models", "gcn:E4", "--trials", "0")
    assert "named twice" in command.fails("sweep", "links", *QUICK, "--models", "gcn:E4 gcn:E4")
    monkeypatch.setattr("qgcn.cli.sweep.find_spec", lambda name: None)
    assert "qgcn[sweep]" in command.fails("sweep", "links", *QUICK, "--models", "gcn:E4")


def test_a_damaged_journal_is_named(command, here):
    given = ("sweep", "links", *QUICK, "--models", "gcn:E4", "--trials", "1", "--out", "s")
    command.works(*given)
    journal = here / "s" / "journal.log"
    whole = bytearray(journal.read_bytes())
    whole[len(whole) // 2] ^= 1
    journal.write_bytes(whole)
    assert "journal.log is damaged: line " in command.fails(*given)
    assert "in memory only" in command.fails(*given, "--storage", "sqlite://")


def test_an_option_of_one_model_can_be_fixed(command, here):
    given = ("--data", "stochastic-block", "--epochs", "2", "--seeds", "1", "--trials", "1", "--out", "steps")
    command.works("sweep", "links", "--models", "propagation:Q3,2", "--steps", "3", *given)
    assert "steps: 3" in (here / "steps" / "best.yaml").read_text()
    told = command.fails("sweep", "links", "--models", "propagation:Q3,2", "--models", "gcn:E4", "--steps", "3", *given)
    assert "steps: the model gcn has no such option" in told
