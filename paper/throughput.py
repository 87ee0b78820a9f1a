"""Training sequences per second with and without a game (the paper's section 5.2): `python -m paper.throughput`.

One step is what a training step is: predict, play, differentiate, clip, move. The four ways take turns, so that
whatever else the machine does disturbs them alike; rates are medians. Run it alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from paper.bearing import REPORTS
from paper.runs import provenance, write_report

import pellucid as pl
from pellucid.series import Network, simulate_rig

CONTEXT, HORIZON, ORDER, RADIUS = 80, 20, 2, 9
FAMILY = pl.LinearFamily(ridge=1.0)
WAYS: dict[str, pl.Game | None] = {
    "no game": None,
    "asymmetric": pl.AsymmetricGame(FAMILY, weight=10.0),
    "symmetric, direct sum": pl.SymmetricGame(FAMILY, weight=10.0, form="direct"),
    "symmetric, consensus": pl.SymmetricGame(FAMILY, weight=10.0, form="consensus"),
}
PAPER = {"asymmetric": 20.6, "symmetric, direct sum": 14.6, "symmetric, consensus": 20.4}


def stepper(game: pl.Game | None, width: int, batch: torch.Tensor) -> Callable[[], None]:
    """One training step on a batch (B, context + horizon, c), ready to be repeated."""
    torch.manual_seed(0)
    network = Network(batch.shape[-1], width=width)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)
    hoods = pl.windows([HORIZON] * len(batch), radius=RADIUS)

    def step() -> None:
        gaussian, _ = network(batch[:, :-1], last=HORIZON)
        loss = gaussian.negative_log_likelihood(batch[:, CONTEXT:]).mean()
        if game is not None:
            lags = pl.lagged(batch[:, CONTEXT - ORDER : -1], order=ORDER)
            loss = loss + game(gaussian.mean.flatten(0, 1), lags.flatten(0, 1), hoods).penalty
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()

    return step


def measure(*, rounds: int, width: int = 128, batch_size: int = 128) -> dict[str, Any]:
    """Sequences per second of every way, and each way's share of that without a game."""
    rig = simulate_rig(rows=batch_size * (CONTEXT + HORIZON)).sequences(CONTEXT + HORIZON)
    batch = torch.from_numpy(rig.astype(np.float32))
    steps = {name: stepper(game, width, batch) for name, game in WAYS.items()}
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(rounds + 2):  # the first two compile kernels and fill caches
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            if turn >= 2:
                seconds[name].append(time.perf_counter() - start)
    base = np.array(seconds["no game"])
    return {
        name: {
            "sequences_per_second": batch_size / float(np.median(times)),
            "share_of_no_game": float(np.median(base / np.array(times))),
            "paper_sequences_per_second": PAPER.get(name),
        }
        for name, times in seconds.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--out", type=Path, default=REPORTS / "throughput.json")
    arguments = parser.parse_args()
    start = time.monotonic()
    results = measure(rounds=arguments.rounds)
    for name, row in results.items():
        print(f"{name:<24}{row['sequences_per_second']:8.0f} sequences/s{row['share_of_no_game']:8.3f} of no game")
    setting = {
        "width": 128,
        "batch_size": 128,
        "rounds": arguments.rounds,
        "threads": torch.get_num_threads(),
        "seed": 0,
    }
    report = {"config": setting, "results": results, **provenance(), "wall_seconds": round(time.monotonic() - start, 1)}
    write_report(arguments.out, report)


if __name__ == "__main__":
    main()
