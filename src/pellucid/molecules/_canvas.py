"""Axes in inches, on which explanations are drawn, and the colors that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pellucid.molecules._layout import BOND, LONG_BOND
from pellucid.molecules.substructures import Substructure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pellucid.molecules._vector import Picture

# The ground of substructures and that of their central atom, by radius; larger radii begin anew.
GROUNDS = (("#fbdc8f", "#eebf45"), ("#b6e3a8", "#7fc76b"), ("#b3d4f5", "#76b0ea"), ("#f6bdd4", "#e987b0"))
PATH, EDGE, HINT, SMALL = "#14213d", "#a3a3a3", "#b8b8b8", "#5f5f5f"


class Canvas:
    """Axes in inches, scaled down where they are too small."""

    def __init__(self, ax: Axes, size: tuple[float, float]) -> None:
        room = ax.get_window_extent()
        dpi = ax.figure.figure.dpi
        self.scale = min(room.width / dpi / size[0], room.height / dpi / size[1])
        self.ax = ax
        ax.set_xlim(0, size[0])
        ax.set_ylim(size[1], 0)
        ax.set_aspect("equal", anchor="N")
        ax.set_axis_off()

    def write(self, x: float, y: float, text: str, size: float, **style: Any) -> None:
        """Write text, in which nothing is markup."""
        style = {"ha": "center", "va": "center", "color": "black", "zorder": 5, **style}
        self.ax.text(x, y, text, fontsize=size * self.scale, parse_math=False, usetex=False, **style)

    def line(self, x: Sequence[float], y: Sequence[float], width: float, **style: Any) -> None:
        from matplotlib.lines import Line2D

        style = {"solid_capstyle": "round", "solid_joinstyle": "round", **style}
        self.ax.add_line(Line2D(x, y, linewidth=width * self.scale, **style))

    def box(self, x: float, y: float, size: tuple[float, float], face: str, node: int, *, marked: bool) -> None:
        """The frame of a node, with its upper middle at (x, y)."""
        from matplotlib.patches import FancyBboxPatch

        edge, width = (PATH, 2.2) if marked else (EDGE, 0.7)
        shape = "round,pad=0,rounding_size=0.06"
        box = FancyBboxPatch((x - size[0] / 2, y), *size, boxstyle=shape, zorder=3)
        box.set(facecolor=face, edgecolor=edge, linewidth=width * self.scale)
        box.set_gid(f"{'marked-' if marked else ''}node-{node}")
        self.ax.add_patch(box)

    def picture(
        self, picture: Picture, x: float, y: float, room: tuple[float, float], label: str, bond: float = BOND
    ) -> None:
        """A picture around (x, y), as large as there is room for, with bonds no longer than that."""
        scale = min(room[0] / picture.width, room[1] / picture.height, bond / picture.bond)
        picture.draw(self.ax, x, y, scale, 72 * self.scale, label)

    def substructure(
        self,
        substructure: Substructure,
        x: float,
        y: float,
        room: tuple[float, float],
        label: str,
        grounds: tuple[str, str] | None = None,
    ) -> None:
        """The picture of a substructure around (x, y), on grounds of its own and of its center, or of its radius."""
        from pellucid.molecules._vector import draw_substructure

        ground, center = grounds or GROUNDS[substructure.radius % len(GROUNDS)]
        picture = draw_substructure(substructure, ground=ground, center=center, hint=HINT)
        self.picture(picture, x, y, room, label, bond=BOND if substructure.radius else LONG_BOND)
