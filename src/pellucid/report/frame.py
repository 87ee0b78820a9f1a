"""A rectangle with axes: what every chart is drawn in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from pellucid.report.numbers import MINUS

if TYPE_CHECKING:
    from markupsafe import Markup

# Room for the numbers and names of the axes.
LEFT, RIGHT, TOP, BOTTOM = 48.0, 12.0, 20.0, 40.0


@final
@dataclass(frozen=True, kw_only=True)
class Frame:
    """Maps data to positions in a picture; y points up in the data and down in the picture."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: float = 480.0
    height: float = 240.0
    top: float = TOP

    def __post_init__(self) -> None:
        for name in ("x", "y"):
            low, high = getattr(self, name)
            if not high > low:  # one value alone still needs a range around it
                pad = abs(low) / 10 or 0.5
                object.__setattr__(self, name, (low - pad, high + pad))

    def across(self, value: float) -> float:
        low, high = self.x
        return round(LEFT + (value - low) / (high - low) * (self.width - LEFT - RIGHT), 1)

    def down(self, value: float) -> float:
        low, high = self.y
        return round(self.bottom - (value - low) / (high - low) * (self.bottom - self.top), 1)

    @property
    def bottom(self) -> float:
        return self.height - BOTTOM

    def axes(
        self,
        x_name: str,
        y_name: str,
        *,
        integers: tuple[bool, bool] = (False, False),
        marks: Sequence[tuple[float, str]] | None = None,
    ) -> Markup:
        """Grid, numbers and names.

        Parameters
        ----------
        x_name, y_name : str
            Names of the axes.
        integers : (bool, bool)
            Whether the numbers along x and along y must be integers.
        marks : sequence of (float, str), optional
            Positions and texts along y, unless round numbers in even steps will do.
        """
        from markupsafe import Markup

        parts = []
        for value, text in ticks(*self.y, integers=integers[1]) if marks is None else marks:
            y = self.down(value)
            parts.append(Markup('<path class="grid" d="M{} {}H{}"/>').format(LEFT, y, self.width - RIGHT))
            parts.append(Markup('<text class="end" x="{}" y="{}">{}</text>').format(LEFT - 6, y + 4, text))
        for value, text in ticks(*self.x, integers=integers[0]):
            x = self.across(value)
            parts.append(Markup('<text class="mid" x="{}" y="{}">{}</text>').format(x, self.bottom + 16, text))
        parts.append(Markup('<path class="axis" d="M{} {}H{}"/>').format(LEFT, self.bottom, self.width - RIGHT))
        middle = (LEFT + self.width - RIGHT) / 2
        name = Markup('<text class="mid name" x="{}" y="{}">{}</text>')
        parts.append(name.format(middle, self.height - 6, x_name))
        parts.append(Markup('<text class="name" x="2" y="11">{}</text>').format(y_name))
        return Markup("").join(parts)

    def svg(self, content: Markup, label: str, kind: str) -> Markup:
        """The whole picture; `label` tells it to those who do not see it."""
        from markupsafe import Markup

        return Markup('<svg class="pl-chart {}" viewBox="0 0 {:g} {:g}" role="img" aria-label="{}">{}</svg>').format(
            kind, self.width, self.height, label, content
        )


def ticks(low: float, high: float, *, count: int = 5, integers: bool = False) -> list[tuple[float, str]]:
    """Round values between low and high, about `count` of them, and their texts.

    Examples
    --------
    >>> ticks(0, 1)
    [(0.0, '0'), (0.2, '0.2'), (0.4, '0.4'), (0.6, '0.6'), (0.8, '0.8'), (1.0, '1')]
    """
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(s for s in (1, 2, 2.5, 5, 10) if s * power >= rough * 0.999 and not (integers and s == 2.5))
    if integers:
        step = max(1.0, step)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [round(i * step, 12) for i in range(first, last + 1)]
    return [(v, f"{v:.6g}".replace("-", MINUS)) for v in values]
