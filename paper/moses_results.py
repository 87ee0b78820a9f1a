"""Table 4 and Figure 4 from the reports of `paper.moses`: `python -m paper.moses_results`.

Writes the tables into `paper/README.md` and the figure into `paper/moses/`. Nothing is trained or measured here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paper.claims import UNKNOWN, Claim, of_one_run, table_of
from paper.moses import REPORTS, chosen
from paper.runs import ROOT, load_config, require_reports, results_parser, save_figure, write_section

from pellucid.molecules import TreeExplanation
from pellucid.molecules.drawing import plot_tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

README = ROOT / "paper" / "README.md"
# ELBO with the neural encoder, ELBO with the trees' posteriors, deviation.
TABLE4 = {"DEEP": (-21.6, -25.4, 4.64), "GAME": (-21.5, -25.1, 3.98)}
Reports = dict[str, dict[str, Any]]


class Study:
    """The reports of one size, and what the validation set chose."""

    def __init__(self, config: dict[str, Any], reports: Reports) -> None:
        self.config, self.reports = config, reports
        self.weight = chosen(config, reports)
        names = {"DEEP": "deep", "GAME": f"game-{self.weight:g}"}
        self.trained = {title: reports[f"train-{name}"] for title, name in names.items()}
        self.tested = {title: reports[f"test-{name}"] for title, name in names.items()}


def numbers(report: dict[str, Any]) -> tuple[float, float, float]:
    """A row of Table 4."""
    return report["neural"]["elbo"], report["tree"]["elbo"], report["deviation"]


def conditions(study: Study) -> str:
    c, first, test = study.config, study.trained["DEEP"], study.tested["DEEP"]
    hoods = test["neighborhoods"]
    rejected = test.get("rejected_count", test.get("left_out"))  # reports of version 0.1 have the latter
    hours = sum(report["wall_seconds"] for report in study.reports.values()) / 3600
    commits = ", ".join(sorted({str(report["commit"])[:12] for report in study.reports.values()}))
    return (
        f"Size `{c['size']}`: {first['molecules']:,} training molecules of 1,584,663 "
        f"({first['molecules'] / 1_584_663:.1%}), 2 % of them held out for validation, {c['epochs']} epochs, batches "
        f"of {c['batch_size']}, width {c['width']}, latent {c['latent']} + {c['latent']}, peak rate "
        f"{c['learning_rate']:g}, KL weight from 0 to 1 over the first {c['warm']:.0%} of the training, {c['free']:g} "
        f"nats free. The game is played in {c['centers']:,} training neighborhoods, {c['share'] * c['batch_size']:g} "
        f"in a step with at most {c['members']} members each. Tested on {test['molecules']:,} molecules of the test "
        f"file ({rejected} more have clusters that the training molecules do not); their whole neighborhoods "
        f"have a median of {hoods['median_above_2']:g} members, {hoods['share_above_2']:.1%} more than 2, at most "
        f"{hoods['largest']}, and their trees {hoods['leaves']:.1f} leaves. One draw of z for each molecule, the same "
        f"noise for all models. Seed {c['seed']}, one run of each model. {hours:.1f} hours in all on two cores; torch "
        f"{first['versions']['torch']}, commit {commits}."
    )


def claims(study: Study) -> str:
    """The paper's statements: differences of the two models, one run of each, which cannot tell small ones."""
    least = study.config["tolerance"]
    deep, game = (numbers(study.tested[name]) for name in ("DEEP", "GAME"))
    found = []
    for text, k, sign in (
        ("GAME deviates less (deviation)", 2, -1),
        ("GAME's bound with the trees' posteriors is better", 1, 1),
        ("GAME's bound with the neural encoder is better", 0, 1),
    ):
        published, ours = TABLE4["GAME"][k] - TABLE4["DEEP"][k], game[k] - deep[k]
        told = UNKNOWN if abs(ours) < least else of_one_run(sign * ours > 0)
        found.append(Claim(text, f"{published:+.2f}", f"{ours:+.2f}", told))
    share = study.tested["GAME"]["splits_outside_scaffold"]
    text = "Most splits of GAME's trees lie outside the scaffold"
    found.append(Claim(text, "most", f"{share:.0%}", of_one_run(share > 0.5)))
    return table_of(found)


def table4(study: Study) -> str:
    rows = [
        "| model | | ELBO, neural encoder | ELBO, decision tree | deviation |",
        "|---|---|---|---|---|",
    ]
    for name, published in TABLE4.items():
        paper = " | ".join(f"{value:g}" for value in published)
        ours = " | ".join(f"{value:.2f}" for value in numbers(study.tested[name]))
        title = name if name == "DEEP" else f"GAME, λ = {study.weight:g}"
        rows += [f"| {title} | paper | {paper} |", f"|  | **ours** | {ours} |"]
    return "\n".join(rows)


def terms(study: Study) -> str:
    rows = ["| model | posterior | topology | labels | assembly | KL | ELBO |", "|---|---|---|---|---|---|---|"]
    for name, report in study.tested.items():
        for kind, title in (("neural", "network"), ("tree", "trees")):
            values = " | ".join(f"{report[kind][key]:.2f}" for key in ("topology", "labels", "assembly", "kl", "elbo"))
            rows.append(f"| {name} | {title} | {values} |")
    return "\n".join(rows)


def sweep(study: Study) -> str:
    rows = ["| model | validation ELBO | topology | labels | assembly | KL |", "|---|---|---|---|---|---|"]
    names = {"deep": "DEEP"} | {f"game-{w:g}": f"GAME, λ = {w:g}" for w in study.config["weights"]}
    for name, title in names.items():
        history = study.reports[f"train-{name}"]["history"]
        best = min(history, key=lambda epoch: epoch["validation_loss"])
        parts = " | ".join(f"{best[f'validation_{key}']:.2f}" for key in ("topology", "labels", "assembly", "kl"))
        mark = " (chosen)" if name == f"game-{study.weight:g}" and len(names) > 2 else ""
        rows.append(f"| {title}{mark} | {best['validation_elbo']:.2f} | {parts} |")
    return "\n".join(rows)


def collapse(study: Study) -> str:
    report, deep = study.reports["train-free0"], study.trained["DEEP"]
    rows = ["| DEEP | molecules | validation ELBO | KL |", "|---|---|---|---|"]
    for title, found in ((f"{study.config['free']:g} nats free", deep), ("none free", report)):
        last = found["history"][-1]
        rows.append(
            f"| {title} | {found['molecules']:,} | {last['validation_elbo']:.2f} | {last['validation_kl']:.2f} |"
        )
    return "\n".join(rows)


def generation(study: Study) -> str:
    c = study.config
    rows = [
        f"| model | reconstruction of {c['reconstructed']:,} test molecules | validity of {c['samples']:,} samples | "
        "uniqueness | novelty |",
        "|---|---|---|---|---|",
    ]
    for name, report in study.tested.items():
        values = (report[key] for key in ("reconstruction", "validity", "uniqueness", "novelty"))
        rows.append(f"| {name} | " + " | ".join(f"{value:.1%}" for value in values) + " |")
    first = ", ".join(f"`{text}`" for text in study.tested["GAME"]["first_samples"][:5])
    return "\n".join(rows) + f"\n\nThe first samples of GAME: {first}."


def scaffolds(study: Study) -> str:
    rows = ["| | DEEP | GAME |", "|---|---|---|"]
    reports = [study.tested[name] for name in ("DEEP", "GAME")]
    for title, key in (
        ("splits on a substructure whose central atom is outside", "splits_outside_scaffold"),
        ("for comparison: atoms of these molecules outside", "atoms_outside_scaffold"),
    ):
        rows.append(f"| {title} | " + " | ".join(f"{report[key]:.1%}" for report in reports) + " |")
    counts = f"{reports[1]['explained']} test molecules, {reports[1]['splits']:,} splits of GAME's trees."
    return "\n".join(rows) + f"\n\n{counts}"


def speed(study: Study) -> str:
    trees = study.reports["trees"]
    rows = [
        "| | molecules per second |",
        "|---|---|",
        f"| junction trees of {trees['molecules']:,} molecules, on two cores, to disk | "
        f"{trees['molecules_per_second']:,} |",
    ]
    c = study.config
    for width in c["timed"]:
        measured = study.reports[f"speed-{width}"]
        rows += [
            f"| training {name}, width {width}, batches of {c['batch_size']}, {measured['threads']} threads | "
            f"{measured[f'{name.lower()}_molecules_per_second']:,.0f} |"
            for name in ("DEEP", "GAME")
        ]
    bad = trees["not_reassembled"]
    share = f"{trees['reassembled']:.2%} of {trees['molecules']:,} molecules come back from their own trees"
    named = f"; not: {', '.join(f'`{text}`' for text in bad)}" if bad else ": all of them"
    return "\n".join(rows) + (
        f"\n\n{trees['labels']} labels, {trees['bytes_per_molecule']} bytes a molecule on disk. {share}{named}."
    )


def figure4(report: dict[str, Any]) -> Figure:
    """One molecule's tree, its leaves with the number of members in each."""
    e = TreeExplanation.from_dict(report["figure4"])
    return plot_tree(e.witness, e.substructures, path=e.path, molecule=e.smiles, outputs=[])


SECTIONS = {
    "moses: conditions": conditions,
    "moses: claims": claims,
    "moses: table 4": table4,
    "moses: terms": terms,
    "moses: sweep": sweep,
    "moses: collapse": collapse,
    "moses: generation": generation,
    "moses: scaffolds": scaffolds,
    "moses: speed": speed,
}


def main(words: Sequence[str] | None = None) -> None:
    size = results_parser(__doc__).parse_args(words).size
    study = Study(load_config("moses", size), require_reports(REPORTS / size, "moses"))
    for mark, make in SECTIONS.items():
        text = make(study)
        write_section(README, mark, text)
        print(f"{text}\n")
    save_figure(figure4(study.tested["GAME"]), REPORTS / "figure4")
    print(f"wrote {README} and the figure in {REPORTS}")


if __name__ == "__main__":
    main()
