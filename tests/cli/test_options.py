"""What every command says about itself and about mistakes."""

import warnings

import pytest
from cli.runner import run

import pellucid as pl
from pellucid import cli


@pytest.mark.slow
def test_help_is_there_for_every_command():
    shown = run("--help").stdout
    for name in ("audit", "compare", "data", "demo", "explain", "predict", "report", "train"):
        assert name in shown
        assert "Usage" in run(name, "--help").stdout
    assert run("--version").stdout.startswith("pellucid ")


def test_help_lists_the_commands_in_the_order_of_use_and_cuts_no_sentence():
    lines = run("--help").stdout.partition("Commands:\n")[2].splitlines()
    names = [
        "demo",
        "train",
        "predict",
        "explain",
        "compare",
        "report",
        "encode",
        "sample",
        "near",
        "optimize",
        "score",
        "audit",
        "data",
    ]
    assert [line.split()[0] for line in lines] == names
    assert all(line.endswith((".", "?")) and not line.endswith("...") for line in lines)
    domains = run("train", "--help").stdout.partition("Commands:\n")[2].splitlines()
    assert domains[0].split(maxsplit=1) == ["molecules", "Learn properties of molecules from a table."]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--game", "chess"], "'--game': must be symmetric, asymmetric, uniform or none. Got 'chess'."),
        (["--epochs", "0"], "'--epochs': must be at least 1. Got 0."),
        (["--epochs", "many"], "'--epochs': must be a whole number. Got 'many'."),
        (["--margin", "x"], "'--margin': must be a number. Got 'x'."),
        (["--learning-rate", "0"], "'--learning-rate': must be at least 1e-09. Got 0."),
    ],
)
def test_values_of_options_are_refused_in_words(words, message):
    assert message in run("train", "molecules", "absent.csv", *words, code=2).stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent.csv", "--pool must be a table of molecules. Got absent.csv, which does not exist; correct the path"),
        ("numbers.csv", "numbers.csv must have a column of SMILES"),
    ],
)
def test_a_pool_is_looked_at_before_data_are_read(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numbers.csv").write_text("a,b\n1,2\n")
    refused = run("train", "molecules", "data.csv", "--pool", name, "-o", tmp_path / "run", code=1).stderr
    assert message in refused
    assert not (tmp_path / "run").exists()


def test_literal_names_of_parameters_become_options(monkeypatch):
    """Domains of other packages write them so."""

    def refuse(*_):
        raise pl.InputError("`pool` must be short", got="a long one", parameter="pool")

    monkeypatch.setattr("pellucid.molecules.domain.MoleculeDomain.check", refuse)
    refused = run("train", "molecules", "absent.csv", "--pool", "x.csv", code=1).stderr
    assert refused == "pellucid: --pool must be short. Got a long one.\n"


def test_warnings_of_the_library_are_one_sentence(monkeypatch, capsys):
    def warns():
        warnings.warn("The domain 'curves' is left out", pl.PellucidWarning, stacklevel=1)
        warnings.warn("of another library", UserWarning, stacklevel=1)
        return lambda: None

    others = []
    monkeypatch.setattr(cli, "_python_shows", lambda message, *_: others.append(str(message)))
    monkeypatch.setattr(cli, "command_line", warns)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        cli.main()
    assert capsys.readouterr().err == "pellucid: The domain 'curves' is left out.\n"
    assert others == ["of another library"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "molecules", "absent.csv"], "absent.csv, which does not exist"),
        (["train", "molecules", "."], "which is a folder"),
        (["train", "molecules", "few.smi"], "few.smi, which holds SMILES and names"),
        (["train", "molecules", "assay.csv", "-t", "Activity"], "did you mean 'activity'?"),
        (["train", "molecules", "assay.csv", "-t", "id"], "a column of text: row 2 is 'M0'"),
        (["train", "molecules", "assay.csv", "-t", "activity", "--task", "classification"], "use --task regression"),
        (["train", "molecules", "five.csv"], "At least 10 molecules are needed"),
        (["train", "molecules", "numbered.csv"], "name it among the targets if it is measured"),
        (["train", "molecules", "assay.csv", "--smiles", "x"], "--smiles must be a column"),
        (["train", "series", "recordings", "--channels", "up"], "Got 'up'; its columns are left, right"),
        (["train", "series", "recordings", "--pattern", "*.dat"], "change --pattern"),
        (["train", "series", "recordings", "--context", "2000"], "record more, or choose a shorter --context"),
        (["train", "series", "recordings", "--weight", "-1"], "--weight must be a finite number"),
        (["train", "series", "recordings", "--level", "2"], "--level must be a confidence"),
        (
            ["train", "series", "recordings", "--horizon", "3", "--order", "2", "--radius", "1", "--ridge", "0"],
            "Got 5 coefficients (2 channels, order 2) on 3 steps with a ridge of 0, which fit anything; lower --order",
        ),
        (["explain", "run", "C1CC"], "Got 'C1CC': not a valid SMILES"),
        (["explain", "series", "recordings", "--level", "2"], "--level must be a confidence"),
        (["explain", "run", "."], "which is a folder"),
    ],
)
def test_messages_are_in_words_of_the_shell(place, monkeypatch, words, message):
    monkeypatch.chdir(place)
    lines = (place / "assay.csv").read_text().splitlines()
    (place / "five.csv").write_text("\n".join(lines[:6]) + "\n")
    (place / "few.smi").write_text("CCO ethanol\n")
    (place / "numbered.csv").write_text("smiles,count\n" + "".join(f"{'C' * n},{n}\n" for n in range(1, 13)))
    options = ["-o", place / "mistake"] if words[0] == "train" else []
    stderr = run(*words, *options, code=1).stderr
    assert message in stderr
    assert "`" not in stderr
    assert not (place / "mistake").exists()
