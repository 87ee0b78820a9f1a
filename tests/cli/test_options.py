"""What every command says about itself and about mistakes."""

import pytest
from cli.runner import run


def test_help_is_there_for_every_command():
    shown = run("--help").stdout
    for name in ("audit", "compare", "data", "demo", "explain", "predict", "report", "train"):
        assert name in shown
        assert "Usage" in run(name, "--help").stdout
    assert run("--version").stdout.startswith("pellucid ")


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
