"""Tables and figures of the bearing study from its reports: `python -m paper.bearing_results`.

Writes the tables into `paper/README.md` and the figures into `paper/bearing/`. Nothing is trained or measured here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from paper import bearing_seeds
from paper.bearing import REPORTS
from paper.claims import UNKNOWN, Claim, of_one_run, table_of
from paper.runs import ROOT, half_width, read_reports, require_reports, results_parser, save_figure, write_section

from pellucid.series import ForecastExplanation, plot_explanations
from pellucid.series.bearing import CHANNELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

README = ROOT / "paper" / "README.md"
MEASURES = {"error": "Error", "deviation": "Deviation", "variation": "TV"}
LAMBDAS = (0, 0.1, 1, 10, 100)
# All of the paper's numbers are times 10^-2.
TABLE3 = {
    "asymmetric": {
        "error": (8.136, 8.057, 8.309, 9.284, 9.794),
        "deviation": (4.197, 4.178, 3.431, 1.127, 0.186),
        "variation": (7.341, 7.197, 5.706, 1.177, 0.144),
    },
    "symmetric": {
        "error": (8.136, 8.089, 8.315, 9.314, 9.807),
        "deviation": (4.197, 4.169, 3.426, 1.116, 0.182),
        "variation": (7.341, 7.292, 5.621, 1.068, 0.132),
    },
}
AR_ERROR = 9.832
OFFSET = "offset"  # what explanations call the constant of a law
RADII = (1, 5, 7, 9, 13, 17, 19)
FIGURE7 = {
    "error": (8.225, 8.302, 8.316, 8.309, 8.349, 8.345, 8.344),
    "deviation": (1.697, 2.762, 3.134, 3.431, 3.623, 3.614, 3.639),
    "variation": (9.185, 7.489, 6.644, 5.706, 3.244, 1.163, 0.0),
}
Reports = Mapping[str, Mapping[str, Any]]


def score(reports: Reports, cell: str, measure: str) -> float:
    """A test score times 100, as the paper prints them."""
    return 100 * float(reports[cell]["test"][measure])


def game_cells(game: str) -> list[str]:
    """The cells of a row of Table 3, from DEEP to the strongest game."""
    return ["deep" if strength == 0 else f"{game}-{strength:g}" for strength in LAMBDAS]


def radius_cells() -> list[str]:
    return ["asymmetric-1" if radius == 9 else f"radius-{radius}" for radius in RADII]


def table3(reports: Reports) -> str:
    """Table 3: the paper's number, then ours."""
    head = "| game | ×10⁻² | | " + " | ".join(f"λ = {s:g}" for s in LAMBDAS) + " | AR |\n|---|---|---|" + "---|" * 6
    rows = []
    for game, measures in TABLE3.items():
        for measure, published in measures.items():
            ours = [score(reports, cell, measure) for cell in game_cells(game)]
            ends = (AR_ERROR, score(reports, "ar", "error")) if measure == "error" else (0, 0)
            for label, values, end in (("paper", published, ends[0]), ("**ours**", ours, ends[1])):
                name = (game, MEASURES[measure]) if label == "paper" else ("", "")
                cells = " | ".join(f"{value:.3f}" for value in (*values, end))
                rows.append(f"| {name[0]} | {name[1]} | {label} | {cells} |")
    return "\n".join([head, *rows])


def figure7_table(reports: Reports) -> str:
    """The numbers behind Figure 7."""
    head = "| ×10⁻² | | " + " | ".join(f"ε = {r}" for r in RADII) + " |\n|---|---|" + "---|" * len(RADII)
    rows = []
    for measure, published in FIGURE7.items():
        ours = [score(reports, cell, measure) for cell in radius_cells()]
        for label, values in (("paper", published), ("**ours**", ours)):
            cells = " | ".join(f"{value:.3f}" for value in values)
            rows.append(f"| {MEASURES[measure] if label == 'paper' else ''} | {label} | {cells} |")
    return "\n".join([head, *rows])


def falls(values: Sequence[float]) -> bool:
    """From each to the next; the paper's own numbers rise now and then, so 2 % of the range are forgiven."""
    return bool((np.diff(values) <= 0.02 * np.ptp(values)).all()) and values[-1] < values[0]


def claims(reports: Reports) -> list[Claim]:
    """What the paper says of Table 3, Figure 3 and Figure 7, with numbers of one seed."""

    def row(cells: list[str], measure: str) -> list[float]:
        return [score(reports, cell, measure) for cell in cells]

    def show(values: Sequence[float]) -> str:
        return ", ".join(f"{value:.3f}" for value in values)

    def claim(text: str, paper: str, ours: str, holds: bool) -> Claim:
        return Claim(text, paper, ours, of_one_run(holds))

    result = []
    for measure in ("deviation", "variation"):
        for game, published in TABLE3.items():
            values = row(game_cells(game), measure)
            text = f"{MEASURES[measure]} falls with λ, {game}"
            result.append(claim(text, show(published[measure]), show(values), falls(values)))
    deep, limit = score(reports, "deep", "error"), score(reports, "ar", "error")
    for game, published in TABLE3.items():
        small, theirs = score(reports, f"{game}-0.1", "error"), published["error"]
        found = claim(
            f"Error at λ = 0.1 is below that at λ = 0, {game}",
            f"{theirs[1]:.3f}, {theirs[0]:.3f}",
            f"{small:.3f}, {deep:.3f}",
            small < deep,
        )
        result.append(found if abs(small - deep) > seeds_apart() else found._replace(verdict=UNKNOWN))
    for game, published in TABLE3.items():
        values = row(game_cells(game)[1:], "error")
        close = abs(values[-1] - limit) < 0.1 * (limit - deep)
        result.append(
            claim(
                f"Error rises towards AR's with λ, {game}",
                f"{show(published['error'][1:])} → {AR_ERROR:.3f}",
                f"{show(values)} → {limit:.3f}",
                falls(values[::-1]) and close,
            )
        )
    pairs = [(s, m) for s in LAMBDAS[1:] for m in MEASURES]
    ours = [
        abs(score(reports, f"asymmetric-{s:g}", m) - score(reports, f"symmetric-{s:g}", m)) / score(reports, "deep", m)
        for s, m in pairs
    ]
    differences = [
        abs(TABLE3["asymmetric"][m][LAMBDAS.index(s)] - TABLE3["symmetric"][m][LAMBDAS.index(s)])
        / TABLE3["asymmetric"][m][0]
        for s, m in pairs
    ]
    text = "Symmetric and asymmetric nearly agree (largest difference within 5 % of DEEP's value)"
    result.append(claim(text, f"{max(differences):.1%}", f"{max(ours):.1%}", max(ours) < 0.05))
    lower = [
        score(reports, f"symmetric-{s:g}", "deviation") < score(reports, f"asymmetric-{s:g}", "deviation")
        for s in LAMBDAS[1:]
    ]
    text = "Symmetric deviates marginally less than asymmetric"
    result.append(claim(text, "at 4 of 4 λ", f"at {sum(lower)} of {len(lower)} λ", all(lower)))
    if (offsets := {name: offset_share(reports[name]) for name in ("deep", "asymmetric-1")})["deep"]:
        text = "DEEP's laws rely more on offsets than GAME's (λ = 1; their share of all parameters, three sequences)"
        numbers = " and ".join(f"{share:.1%}" for share in offsets.values())
        result.append(claim(text, "(a picture)", numbers, offsets["deep"] > offsets["asymmetric-1"]))
    deviations, variations = row(radius_cells(), "deviation"), row(radius_cells(), "variation")
    end = RADII.index(13) + 1
    known = list(FIGURE7["deviation"])
    text = "Deviation rises with ε, up to 13"
    result.append(claim(text, show(known[:end]), show(deviations[:end]), falls(deviations[:end][::-1])))
    text, late = "Deviation rises with ε, from 13 to 19", deviations[end - 1 :]
    result.append(claim(text, show(known[end - 1 :]), show(late), falls(late[::-1])))
    result.append(claim("TV falls with ε", show(FIGURE7["variation"]), show(variations), falls(variations)))
    result.append(claim("TV is 0 at ε = 19", "0.000", f"{variations[-1]:.1e}", variations[-1] < 1e-6))
    trends = [rank_correlation(RADII, errors) for errors in (FIGURE7["error"], row(radius_cells(), "error"))]
    text = "Error rises with ε (rank correlation)"
    result.append(claim(text, f"{trends[0]:.2f}", f"{trends[1]:.2f}", trends[1] > 0.5))
    return result


def seeds_apart() -> float:
    """The smallest difference between errors at λ = 0.1 and 0 that can be told: half the interval of several seeds."""
    reports = read_reports(bearing_seeds.REPORTS / "cpu")
    game, deep = (bearing_seeds.errors(reports, kind) for kind in ("asymmetric-0.1", "deep"))
    return half_width(np.array([game[seed] - deep[seed] for seed in game if seed in deep]))


def offset_share(report: Mapping[str, Any]) -> float:
    """The offsets' share of the absolute parameters of the laws along the forecasts that Figure 3 begins with."""
    shares = []
    for example in report.get("examples", {}).get("generated", []):
        sizes = np.abs(np.array(example["parameters"]))  # (positions, parameters, channels)
        shares.append(sizes[:, example["names"].index(OFFSET)].sum() / sizes.sum())
    return float(np.mean(shares)) if shares else 0.0


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's."""
    from scipy.stats import spearmanr

    return float(spearmanr(x, y).statistic)


def limit_table(reports: Reports) -> str:
    """Where a large weight leads: errors relative to a constant forecast, and one-step errors."""
    cells = [*game_cells("asymmetric"), "ar"]
    rows = {
        "generated: error / error of the training mean": [reports[c]["test"]["relative_error"] for c in cells],
        "one step ahead: error / error of the training mean": [
            reports[c]["test_forced"]["relative_error"] for c in cells
        ],
        "generated: deviation / movement of the forecast": [reports[c]["test"]["relative_deviation"] for c in cells],
    }
    head = "| asymmetric game | " + " | ".join(f"λ = {s:g}" for s in LAMBDAS) + " | AR |\n|---|" + "---|" * len(cells)
    return "\n".join(
        [head, *(f"| {name} | {' | '.join(f'{v:.3f}' for v in values)} |" for name, values in rows.items())]
    )


def seeds_table(others: Mapping[str, Reports], reports: Reports) -> str:
    """What another seed (split, initialization, order) changes."""
    head = "| seed | DEEP: error, deviation, TV | λ = 0.1, asymmetric: error, deviation, TV |\n|---|---|---|"
    rows = []
    for part in (reports, *others.values()):
        numbers = [
            ", ".join(f"{score(part, cell, measure):.3f}" for measure in MEASURES)
            for cell in ("deep", "asymmetric-0.1")
        ]
        rows.append(f"| {part['deep']['config']['seed']} | {' | '.join(numbers)} |")
    return "\n".join([head, *rows])


def other_seeds(size: str) -> dict[str, Reports]:
    """Reports of further seeds, by folder."""
    return {path.name: read_reports(path) for path in sorted(REPORTS.glob(f"{size}-seed*"))}


def conditions(reports: Reports) -> str:
    """How the numbers came about, from the reports themselves."""
    deep = reports["deep"]
    config, parts = deep["config"], deep["sequences"]
    commits = sorted({str(report["commit"])[:12] for report in reports.values()})
    hours = sum(report["wall_seconds"] for report in reports.values()) / 3600
    return (
        f"Size `{config['size']}`, seed {config['seed']}: {sum(parts.values()):,} sequences ({config['share']:.0%} of "
        f"the data), {parts['train']:,} of them for training, {parts['validation']:,} for validation, "
        f"{parts['test']:,} for the test; {config['epochs']} epoch{'s' if config['epochs'] > 1 else ''}, batches of "
        f"{config['batch_size']}, peak rate {config['learning_rate']:g}, width {config['width']}. "
        f"{len(reports)} cells, {hours:.1f} hours of one core in all; torch {deep['versions']['torch']}, "
        f"commit{'s' if len(commits) > 1 else ''} {', '.join(commits)}."
    )


def throughput_table(report: Mapping[str, Any]) -> str:
    """Sequences per second with and without a game."""
    rows = []
    for name, row in report["results"].items():
        published = row["paper_sequences_per_second"]
        share = f"{row['share_of_no_game']:.3f}" if name != "no game" else "1"
        rows.append(f"| {name} | {published or ''} | {row['sequences_per_second']:.0f} | {share} |")
    head = "| game | paper, sequences/s | ours, sequences/s | share of no game |\n|---|---|---|---|"
    setting = report["config"]
    return "\n".join([head, *rows]) + (
        f"\n\nMedians of {setting['rounds']} rounds in which the four take turns, batches of {setting['batch_size']}, "
        f"{setting['threads']} threads, commit {str(report['commit'])[:12]}."
    )


def coefficients(reports: Reports, kind: str, example: int = 0) -> Figure:
    """Figures 3 ("generated") and 6 ("forced"): what the witnesses of the first channel say, DEEP beside GAME."""
    shown = {}
    for name, cell in (("DEEP", "deep"), ("GAME, λ = 1", "asymmetric-1"), ("GAME, λ = 10", "asymmetric-10")):
        examples = reports[cell]["examples"]
        shown[name] = with_future(ForecastExplanation.from_dict(examples[kind][example]), examples["future"][example])
    return plot_explanations(shown, standardized=False)  # as the paper draws them


def with_future(explanation: ForecastExplanation, future: Any) -> ForecastExplanation:
    """The same explanation with the bearings' names that also knows what came, to be drawn."""
    return ForecastExplanation.from_dict({**explanation.to_dict(), "channels": CHANNELS, "actual": future})


def figure7(reports: Reports) -> Figure:
    """Error, deviation and TV against the radius: the paper's and ours."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 3.2), layout="constrained")
    for axis, (measure, published) in zip(figure.subplots(1, 3), FIGURE7.items(), strict=True):
        axis.plot(RADII, published, color="0.6", marker="o", ms=4, ls="--", label="paper")
        ours = [score(reports, cell, measure) for cell in radius_cells()]
        axis.plot(RADII, ours, color="#2a7f3f", marker="o", ms=5, lw=2, label="ours")
        axis.set_title(f"{MEASURES[measure]} (×10⁻²)", loc="left", fontsize=10)
        axis.set_xlabel("neighborhood radius ε", fontsize=9)
        axis.set_xticks(RADII)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False, fontsize=8)
    return figure


def figures(reports: Reports) -> dict[str, Callable[[], Figure]]:
    return {
        "figure3": lambda: coefficients(reports, "generated"),
        "figure6": lambda: coefficients(reports, "forced"),
        "figure7": lambda: figure7(reports),
    }


def sections(reports: Reports, others: Mapping[str, Reports], throughput: Mapping[str, Any]) -> dict[str, str]:
    """What is written into the README, by the mark where it goes."""
    return {
        "bearing: conditions": conditions(reports),
        "bearing: table 3": table3(reports),
        "bearing: figure 7": figure7_table(reports),
        "bearing: claims": table_of(claims(reports)),
        "bearing: seeds": seeds_table(others, reports),
        "bearing: limit": limit_table(reports),
        "bearing: throughput": throughput_table(throughput),
    }


def main(words: Sequence[str] | None = None) -> None:
    arguments = results_parser(__doc__).parse_args(words)
    reports = require_reports(REPORTS / arguments.size, "bearing")
    throughput = json.loads((REPORTS / "throughput.json").read_text())
    for mark, text in sections(reports, other_seeds(arguments.size), throughput).items():
        write_section(README, mark, text)
        print(f"{text}\n")
    for name, draw in figures(reports).items():
        save_figure(draw(), REPORTS / name)
    print(f"wrote {README} and the figures in {REPORTS}")


if __name__ == "__main__":
    main()
