"""Draws the three games as one SVG, readable on light and on dark pages: python docs/games_figure.py"""

from __future__ import annotations

import math
from pathlib import Path

# Two overlapping neighborhoods as they might be. The predictor nearly follows a line in the first, and none in the
# second.
PLACES = [0.05, 0.16, 0.27, 0.38, 0.5, 0.62, 0.73, 0.84, 0.95]
VALUES = [0.13, 0.3, 0.27, 0.44, 0.42, 0.86, 0.42, 0.98, 0.58]
HOODS = [range(6), range(3, 9)]
CENTERS = [2, 6]

WIDTH, HEIGHT, GAP = 320, 230, 30
LEFT, TOP = 30, 92
STYLE = """
  text { font: 14px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink); }
  .title { font-weight: 700; font-size: 18px; } .small { font-size: 13px; fill: var(--soft); }
  .hood { fill: var(--hood); stroke: var(--faint); } .hood-1 { stroke-dasharray: 5 4; }
  .f { fill: none; stroke: var(--f); stroke-width: 1.6; opacity: .55; }
  .dot { fill: var(--f); } .idle { fill: var(--idle); } .ring { fill: none; stroke: var(--f); stroke-width: 2; }
  .g { stroke: var(--g); stroke-width: 3; stroke-linecap: round; }
  .pull { stroke: var(--pull); stroke-width: 2.4; fill: none; } .head { fill: var(--pull); }
  svg { --ink: #1d2733; --soft: #51606f; --faint: #b4c0ca; --hood: #e9f0f480; --f: #14699c; --idle: #9fb4c3;
        --g: #c8641c; --pull: #00796b; --paper: #ffffff; }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #e4e9ee; --soft: #aeb9c4; --faint: #5a6776; --hood: #2c364280; --f: #6cbcec; --idle: #56697a;
          --g: #f2a05e; --pull: #4fd1bd; --paper: #1b2129; } }
"""


def fitted(members: range) -> tuple[float, float]:
    """Intercept and slope of the least-squares line through the members: their witness."""
    xs, ys = [PLACES[i] for i in members], [VALUES[i] for i in members]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    slope /= sum((x - mean_x) ** 2 for x in xs)
    return mean_y - slope * mean_x, slope


def goals(game: str) -> dict[int, float]:
    """Where the predictor is pulled, at the points where it is."""
    said = [{i: a + b * PLACES[i] for i in hood} for hood in HOODS for a, b in [fitted(hood)]]
    if game == "asymmetric":
        return {center: said[k][center] for k, center in enumerate(CENTERS)}
    if game == "uniform":
        return said[1]  # the first neighborhood is within the margin
    covering = {i: [witness[i] for witness in said if i in witness] for i in range(len(PLACES))}
    return {i: sum(values) / len(values) for i, values in covering.items()}


def panel(index: int, game: str, words: tuple[str, str], price: str) -> str:
    """Both neighborhoods in one game: the predictor, the witnesses, and who is pulled where."""
    x0 = LEFT + index * (WIDTH + GAP)

    def at(x: float, y: float) -> tuple[float, float]:
        return x0 + x * WIDTH, TOP + (1.1 - y) * HEIGHT / 1.14

    def arrow(i: int, goal: float) -> str:
        """From the predictor towards its goal; none where there is no way to go."""
        (a, b), (_, d) = at(PLACES[i], VALUES[i]), at(PLACES[i], goal)
        way = math.copysign(1, d - b)
        if abs(d - b) < 12:
            return ""
        tip = d - 2 * way if abs(d - b) > 20 else b + 18 * way  # short ones are drawn a little longer
        return (
            f'<line class="pull" x1="{a:.1f}" y1="{b + 6 * way:.1f}" x2="{a:.1f}" y2="{tip - 8 * way:.1f}"/>'
            f'<path class="head" d="M{a:.1f} {tip:.1f} l-5 {-9 * way:.1f} h10 z"/>'
        )

    parts = [
        f'<text class="title" x="{x0}" y="28">{game.capitalize()}</text>',
        f'<text class="small" x="{x0}" y="52">{words[0]}</text>',
        f'<text class="small" x="{x0}" y="71">{words[1]}</text>',
    ]
    for k, hood in enumerate(HOODS):
        left, right = x0 + PLACES[hood[0]] * WIDTH - 14, x0 + PLACES[hood[-1]] * WIDTH + 14
        size = f'x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" height="{HEIGHT}"'
        parts.append(f'<rect class="hood hood-{k}" {size} rx="12"/>')
    for hood in HOODS:
        intercept, slope = fitted(hood)
        (a, b), (c, d) = (at(x, intercept + slope * x) for x in (PLACES[hood[0]] - 0.03, PLACES[hood[-1]] + 0.03))
        parts.append(f'<line class="g" x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}"/>')
    points = [at(x, y) for x, y in zip(PLACES, VALUES, strict=True)]
    parts.append(f'<polyline class="f" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}"/>')
    pulled = goals(game)
    parts += [arrow(i, goal) for i, goal in pulled.items()]
    for i, (a, b) in enumerate(points):
        parts.append(f'<circle class="{"dot" if i in pulled else "idle"}" cx="{a:.1f}" cy="{b:.1f}" r="5.5"/>')
        if i in CENTERS:
            parts.append(f'<circle class="ring" cx="{a:.1f}" cy="{b:.1f}" r="9.5"/>')
    if game == "uniform":
        for text, x, anchor in (("D ≤ margin", 0.03, "start"), ("D &gt; margin", 0.97, "end")):
            place = f'x="{x0 + x * WIDTH:.1f}" y="{TOP + HEIGHT - 12}" text-anchor="{anchor}"'
            parts.append(f'<text class="small" {place}>{text}</text>')
    parts.append(f'<text x="{x0}" y="{TOP + HEIGHT + 28}">{price}</text>')
    return "\n".join(parts)


def legend(y: float) -> str:
    """What the signs mean, in one row."""
    signs = [
        ('<circle class="dot" cx="8" cy="-5" r="5.5"/>', "predictor, pulled"),
        ('<circle class="idle" cx="8" cy="-5" r="5.5"/>', "predictor, left alone"),
        ('<circle class="ring" cx="8" cy="-5" r="8"/>', "a center"),
        ('<rect class="hood" x="-3" y="-16" width="22" height="20" rx="5"/>', "its neighborhood"),
        ('<line class="g" x1="-4" y1="-5" x2="20" y2="-5"/>', "its witness, fitted to all members"),
        (
            '<line class="pull" x1="8" y1="-15" x2="8" y2="-3"/><path class="head" d="M8 4 l-5 -9 h10 z"/>',
            "pull",
        ),
    ]
    places = [6, 166, 350, 452, 608, 872]
    return "\n".join(
        f'<g transform="translate({LEFT + x} {y})">{sign}<text class="small" x="26" y="0">{text}</text></g>'
        for x, (sign, text) in zip(places, signs, strict=True)
    )


PANELS = (
    (
        "symmetric",
        ("Every member is pulled towards the", "witnesses that cover it, to their mean."),
        "pays for all members of all neighborhoods",
    ),
    ("asymmetric", ("Only the centers are pulled,", "each towards its own witness."), "pays at the centers alone"),
    (
        "uniform",
        ("A neighborhood within the margin is left", "alone; others are pulled, ever more strongly."),
        "must be within the margin everywhere",
    ),
)


def figure() -> str:
    """The picture."""
    width, height = 2 * LEFT + 3 * WIDTH + 2 * GAP, TOP + HEIGHT + 86
    body = "\n".join(panel(i, *content) for i, content in enumerate(PANELS))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Two overlapping neighborhoods in the symmetric, the asymmetric and the uniform game">\n'
        f'<style>{STYLE}</style>\n<rect width="100%" height="100%" fill="var(--paper)" rx="12"/>\n'
        f"{body}\n{legend(height - 20)}\n</svg>\n"
    )


if __name__ == "__main__":
    Path(__file__).with_name("games.svg").write_text(figure())
