"""Benchmarks: Pellucid against what one would otherwise write, side by side in one run.

Every figure is a ratio of medians measured in the same process, both sides taking turns. Results go to
benchmarks/core.json, from which the table in benchmarks/README.md is made.

    python -m benchmarks.run            # measure, save, and update the table in benchmarks/README.md
    python -m benchmarks.run --smoke    # tiny sizes, nothing saved: shows that everything runs
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from paper.runs import write_section
from torch import Tensor, nn

import pellucid as pl

HERE = Path(__file__).parent
README = HERE / "README.md"
Section: TypeAlias = Callable[[bool], list[dict[str, Any]]]
"""From whether sizes should be tiny to rows of the table."""


def rounds(*actions: Callable[[], object], repeats: int) -> NDArray[np.float64]:
    """Seconds that each action took in each round (repeats x actions).

    They take turns, so that a busy moment hits all of them, in an order drawn anew each time, since an action
    leaves caches and free memory behind for the next.
    """
    times = np.empty((repeats, len(actions)))
    order = np.random.default_rng(0)
    for action in actions:
        action()  # compile, fill caches
    for row in times:
        for i in order.permutation(len(actions)):
            start = time.perf_counter()
            actions[i]()
            row[i] = time.perf_counter() - start
    return times


def seconds(*actions: Callable[[], object], repeats: int) -> list[float]:
    """The median time of each action."""
    result: list[float] = np.median(rounds(*actions, repeats=repeats), axis=0).tolist()
    return result


def fingerprints(n: int, size: int, generator: np.random.Generator) -> tuple[Tensor, Tensor, pl.Neighborhoods]:
    """Neighborhoods of analogs: 2048 bits, of which fragments switch groups of about 150 on and off."""
    bits, varying, outputs = 2048, 150, 12
    x = np.zeros((n, size, bits), dtype=np.uint8)
    f = np.zeros((n, size, outputs))
    for i in range(n):
        groups = generator.integers(0, 60, varying)
        fragments = generator.random((size, 60)) < generator.beta(0.6, 2.0, 60)
        flips = generator.random((size, varying)) < 0.01
        x[i] = generator.random(bits) < 0.03
        x[i][:, generator.choice(bits, varying, replace=False)] = fragments[:, groups] ^ flips
        effects = generator.normal(size=(60, outputs)) * (generator.random((60, 1)) < 0.3)
        f[i] = 1 / (1 + np.exp(-0.5 * fragments @ effects - 0.3 * generator.normal(size=(size, outputs))))
    members = [range(i * size, (i + 1) * size) for i in range(n)]
    hoods = pl.from_lists(members, centers=[m[0] for m in members])
    return torch.from_numpy(x.reshape(-1, bits)), torch.from_numpy(f.reshape(-1, outputs)), hoods


def trees(smoke: bool) -> list[dict[str, Any]]:
    """All trees in one call against a loop over scikit-learn's, one thread each."""
    from sklearn.tree import DecisionTreeRegressor

    torch.set_num_threads(1)
    n, size = (20 if smoke else 1000), 59
    x, f, hoods = fingerprints(n, size, np.random.default_rng(0))
    bits, values = x.numpy(), f.numpy()
    rows = []
    cases: list[tuple[Literal["squared", "absolute"], int, float]] = [("squared", 40, 20), ("absolute", 20, 100)]
    for criterion, sample, goal in cases:
        family = pl.TreeFamily(depth=5, criterion=criterion)
        sample = min(sample, n)

        def loop(criterion: str = criterion, sample: int = sample) -> None:
            for i in range(sample):
                own = slice(i * size, (i + 1) * size)
                tree = DecisionTreeRegressor(max_depth=5, criterion=f"{criterion}_error", random_state=0)
                tree.fit(bits[own], values[own])

        ours, theirs = seconds(partial(family.best_response, x, f, hoods), loop, repeats=1 if smoke else 5)
        rows.append(
            compared(
                f"{n} trees, {criterion}: 59 members, 2048 bits (150 vary), 12 outputs, depth 5",
                "loop over `DecisionTreeRegressor`",
                ours / n,
                theirs / sample,
                goal,
                threads=1,
            )
        )
    return rows


def ridges(smoke: bool) -> list[dict[str, Any]]:
    """All windows in one call against a loop over scikit-learn's Ridge."""
    from sklearn.linear_model import Ridge

    torch.set_num_threads(1)
    x, f, hoods = series(4 if smoke else 128)
    features, values = x.numpy(), f.numpy()
    sample = [hoods.members_of(i).numpy() for i in range(0, len(hoods), max(1, len(hoods) // 300))]
    family = pl.LinearFamily(ridge=1.0)

    def loop() -> None:
        for own in sample:
            Ridge(alpha=1.0).fit(features[own], values[own])

    ours, theirs = seconds(lambda: family.best_response(x, f, hoods), loop, repeats=2 if smoke else 9)
    name = f"{len(hoods)} ridge witnesses: windows of radius 9, 8 features, 4 outputs"
    return [compared(name, "loop over `Ridge`", ours / len(hoods), theirs / len(sample), 500.0, threads=1)]


def many_features(smoke: bool) -> list[dict[str, Any]]:
    """Ridge witnesses of 2048 bits, in the smaller of two forms, against a loop over scikit-learn's Ridge."""
    from sklearn.linear_model import Ridge

    torch.set_num_threads(1)
    n, size = (20 if smoke else 1000), 115
    x, f, hoods = fingerprints(n, size, np.random.default_rng(0))
    f = f[:, :1].contiguous()
    bits, values, sample = x.double().numpy(), f.numpy(), min(20, n)
    family = pl.LinearFamily(ridge=3.0)

    def loop() -> None:
        for i in range(sample):
            own = slice(i * size, (i + 1) * size)
            Ridge(alpha=3.0).fit(bits[own], values[own])

    ours, theirs = seconds(lambda: family.best_response(x, f, hoods), loop, repeats=1 if smoke else 7)
    name = f"{n} ridge witnesses: 115 members, 2048 bits (150 vary)"
    return [compared(name, "loop over `Ridge`", ours / n, theirs / sample, 50.0, threads=1)]


def held_out(smoke: bool) -> list[dict[str, Any]]:
    """Held-out deviations of linear witnesses against those at the members fitted to; features stay as they are."""
    torch.set_num_threads(1)
    n = 300 if smoke else 10_000
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, 10, generator=generator, dtype=torch.float64)
    hoods, family = pl.nearest(x, k=20), pl.LinearFamily(ridge=1.0)

    def play(held_out: bool) -> None:
        f = torch.randn(n, 1, generator=generator, dtype=torch.float64)
        witnesses = family.best_response(x, f, hoods)
        (witnesses.held_out() if held_out else witnesses).deviations(f=f)

    times = rounds(partial(play, True), partial(play, False), repeats=2 if smoke else 31)
    ratio, (ours, theirs) = float(np.median(times[:, 0] / times[:, 1])), np.median(times, axis=0)
    row = costs(
        f"held-out deviations, {n} linear witnesses of 20 members, 10 features",
        "deviations where fitted",
        float(ours),
        float(theirs),
        1.1,
        threads=1,
    )
    return [{**row, "ratio": ratio, "met": ratio <= 1.1}]


def banked(smoke: bool) -> list[dict[str, Any]]:
    """What a bank of linear witnesses adds to an epoch without a game."""
    torch.set_num_threads(1)
    n = 200 if smoke else 1500
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(n, 2048, generator=generator) < 0.05).to(torch.uint8)
    # About as long an epoch as that of a small graph network on as many molecules.
    predictor = nn.Sequential(
        nn.Linear(2048, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU(), nn.Linear(768, 1)
    )  # fmt: skip
    optimizer = torch.optim.Adam(predictor.parameters(), lr=1e-4)
    features, y, hoods = x.float(), torch.randn(n, 1, generator=generator), pl.nearest(x.float(), k=24)
    rows = []
    for kind in ("in-sample", "held-out"):
        game = pl.SymmetricGame(pl.LinearFamily(ridge=3.0), held_out=kind == "held-out")
        bank = pl.Bank(game, x, hoods, refit_every=5 * 64)
        bank.update(y)
        spent = {"game": 0.0}

        def epoch(bank: pl.Bank | None, spent: dict[str, float] = spent) -> None:
            spent["game"] = 0.0
            for batch in torch.randperm(n, generator=generator).split(64):
                optimizer.zero_grad()
                f = predictor(features[batch])
                loss = (f - y[batch]).square().mean()
                if bank is not None:
                    start = time.perf_counter()
                    loss = loss + bank.penalty(f, batch)
                    spent["game"] += time.perf_counter() - start
                loss.backward()
                optimizer.step()

        repeats = 1 if smoke else 9
        ratios, games, epochs = [], [], []
        epoch(bank)
        for _ in range(repeats):
            # An epoch with a game and one without differ by less than epochs differ: the game's own time is taken.
            start = time.perf_counter()
            epoch(bank)
            whole = time.perf_counter() - start
            ratios.append(spent["game"] / (whole - spent["game"]))
            games.append(spent["game"])
            epochs.append(whole - spent["game"])
        row = costs(
            f"{kind} game with a bank: {n} points, 24 members, 2048 bits, ridge, refitted every 5 batches of 64",
            "the rest of an epoch of a small network",
            median(games),
            median(epochs),
            0.03,
            threads=1,
        )
        rows.append({**row, "ratio": median(ratios), "met": median(ratios) <= 0.03})
    return rows


def series(batch: int) -> tuple[Tensor, Tensor, pl.Windows]:
    """Autoregressive features of random series, values to be witnessed, and windows of radius 9."""
    generator = torch.Generator().manual_seed(0)
    x = pl.lagged(torch.randn(batch, 99, 4, generator=generator), order=2).flatten(0, 1)
    f = torch.randn(len(x), 4, generator=generator)
    return x, f, pl.windows([98] * batch, radius=9)


class Predictor(nn.Module):
    """One convolution, one LSTM, two linear layers, width 128: the size of the paper's sequence model."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(4, 128, 2)
        self.lstm = nn.LSTM(128, 128, batch_first=True)
        self.head = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4))

    def forward(self, history: Tensor) -> Tensor:
        hidden, _ = self.lstm(torch.relu(self.convolution(history.mT)).mT)
        result: Tensor = self.head(hidden)
        return result


def training_step(smoke: bool) -> list[dict[str, Any]]:
    """A step of training with each game against one without."""
    threads = os.cpu_count() or 1
    torch.set_num_threads(threads)
    batch = 4 if smoke else 128
    generator = torch.Generator().manual_seed(0)
    history = torch.randn(batch, 100, 4, generator=generator)
    x = pl.lagged(history[:, :-1], order=2).flatten(0, 1)  # positions 2..99, each of which predicts the next
    target = history[:, 2:].flatten(0, 1)
    hoods = pl.windows([98] * batch, radius=9)
    predictor = Predictor()
    optimizer = torch.optim.Adam(predictor.parameters(), lr=1e-4)
    family = pl.LinearFamily(ridge=1.0)

    def step(game: pl.Game | None) -> None:
        optimizer.zero_grad()
        f = predictor(history)[:, :-1].flatten(0, 1)
        loss = (f - target).square().mean()
        if game:
            loss = loss + game(f, x, hoods).penalty
        loss.backward()
        optimizer.step()

    games = {
        "no game": None,
        "asymmetric": pl.AsymmetricGame(family),
        "symmetric": pl.SymmetricGame(family),
        "symmetric, direct sum": pl.SymmetricGame(family, form="direct"),
    }
    kinds = list(games)
    times = rounds(*(partial(step, game) for game in games.values()), repeats=3 if smoke else 101)

    def row(kind: str, against: str, least: float, most: float, goal: str) -> dict[str, Any]:
        own, other = times[:, kinds.index(kind)], times[:, kinds.index(against)]
        ratio = float(np.median(own / other))  # round by round: a busy minute does not count for one side only
        return {
            "name": f"training step, CNN + LSTM of width 128, 128 x 98 positions: {kind}",
            "against": against,
            "milliseconds": [1e3 * float(np.median(own)), 1e3 * float(np.median(other))],
            "ratio": ratio,
            "goal": goal,
            "met": least <= ratio <= most,
            "threads": threads,
        }

    return [
        row("asymmetric", "no game", 0, 1.10, "at most 1.10"),
        row("symmetric", "no game", 0, 1.10, "at most 1.10"),
        row("symmetric", "asymmetric", 0.97, 1.03, "within 3 %"),
        row("symmetric, direct sum", "no game", 0, np.inf, ""),
    ]


GROWTH = """
import re, sys, time, torch, pellucid as pl
def memory(kind):
    return int(re.search(kind + r":\\s*(\\d+) kB", open("/proc/self/status").read())[1])
torch.set_num_threads(1)
kind, n = sys.argv[1], int(sys.argv[2])
family = pl.LinearFamily(ridge=1.0) if kind == "linear" else pl.TreeFamily(depth=3)
generator = torch.Generator().manual_seed(0)
x, f = torch.randn(n, 8, generator=generator), torch.randn(n, 4, generator=generator)
hoods = pl.windows([n], radius=9)
family.best_response(x[:50], f[:50], pl.windows([50], radius=9)).consensus()
open("/proc/self/clear_refs", "w").write("5")  # the peak counts from now on
before = memory("VmRSS")
times = []
for _ in range(3):
    start = time.perf_counter()
    pl.SymmetricGame(family)(f, x, hoods)
    times.append(time.perf_counter() - start)
print(sorted(times)[1], 1024 * (memory("VmHWM") - before))
"""


def growth(smoke: bool) -> list[dict[str, Any]]:
    """Time and memory of a symmetric game over three decades of neighborhoods."""
    if not os.access("/proc/self/clear_refs", os.W_OK):
        print("  skipped: the peak of memory cannot be measured on this system")
        return []
    sizes = (1000, 4000) if smoke else (1000, 10_000, 100_000, 1_000_000)
    rows = []
    for kind in ("linear", "tree"):
        printed = [[float(number) for number in python("-c", GROWTH, kind, str(n)).split()] for n in sizes]
        took, held = zip(*printed, strict=True)
        for what, values in (("time", took), ("memory", held)):
            # The slope in logarithms: 1 is linear growth.
            slope = float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)[0])
            rows.append(
                {
                    "name": f"{what} of a symmetric game, {kind} witnesses, {sizes[0]:,} to {sizes[-1]:,} centers",
                    "against": "linear growth: exponent 1",
                    "sizes": sizes,
                    "values": values,
                    "ratio": slope,
                    "unit": "exponent",
                    "goal": "about 1",
                    "met": slope < 1.1,
                    "threads": 1,
                }
            )
    return rows


def startup(smoke: bool) -> list[dict[str, Any]]:
    """`import pellucid` beyond `import torch`, in fresh interpreters."""
    code = "import time, torch; t = time.perf_counter(); import pellucid; print(time.perf_counter() - t)"
    took = median(float(python("-c", code)) for _ in range(2 if smoke else 7))
    return [
        {
            "name": "`import pellucid` beyond `import torch`",
            "against": "",
            "ratio": took,
            "unit": "s",
            "goal": "under 1 s",
            "met": took < 1,
            "threads": 1,
        }
    ]


def python(*arguments: str) -> str:
    """What a fresh interpreter prints."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603


def compared(name: str, against: str, ours: float, theirs: float, goal: float, *, threads: int) -> dict[str, Any]:
    return {
        "name": name,
        "against": against,
        "milliseconds": [1e3 * ours, 1e3 * theirs],
        "ratio": theirs / ours,
        "unit": "times faster",
        "goal": f"at least {goal:g}",
        "met": theirs / ours >= goal,
        "threads": threads,
    }


def costs(name: str, against: str, ours: float, theirs: float, goal: float, *, threads: int) -> dict[str, Any]:
    return {
        "name": name,
        "against": against,
        "milliseconds": [1e3 * ours, 1e3 * theirs],
        "ratio": ours / theirs,
        "goal": f"at most {goal:g}",
        "met": ours / theirs <= goal,
        "threads": threads,
    }


def table(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    lines = ["| what | against | measured | goal | threads |", "|---|---|---|---|---|"]
    for row in report["rows"]:
        shown = f"{row['ratio']:.3g}" if row["ratio"] < 100 else f"{row['ratio']:.0f}"
        unit = f" {row['unit']}" if "unit" in row else " times the cost"
        mark = "" if row["met"] else " (**missed**)"
        lines.append(f"| {row['name']} | {row['against']} | {shown}{unit} | {row['goal']}{mark} | {row['threads']} |")
    machine = report["machine"]
    lines += [
        "",
        f"Medians, both sides in one run, on {machine['cores']} cores ({machine['processor']}), Python "
        f"{machine['python']}, torch {machine['torch']}, scikit-learn {machine['scikit-learn']}.",
    ]
    return "\n".join(lines)


def report_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    import sklearn

    return {
        "machine": {
            "cores": os.cpu_count(),
            "processor": platform.machine(),
            "python": platform.python_version(),
            "torch": torch.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "rows": rows,
    }


def publish(name: str, sections: Sequence[Section]) -> None:
    """Measure, and unless it is only a trial save the report as <name>.json and the table in README.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, nothing saved")
    smoke = parser.parse_args().smoke
    rows: list[dict[str, Any]] = []
    for section in sections:
        print(f"{section.__name__} ...", flush=True)
        rows += section(smoke)
        if not smoke:  # as it goes: what was measured stays if a later section fails or is stopped
            (HERE / f"{name}.json").write_text(json.dumps(report_of(rows), indent=1) + "\n")
            write_section(README, f"benchmarks-{name}", table(report_of(rows)))
    print("\n" + table(report_of(rows)))


SECTIONS = (training_step, trees, ridges, many_features, held_out, banked, growth, startup)

if __name__ == "__main__":
    publish("core", SECTIONS)
