"""Where everything of a drawn tree goes, and how much room texts take."""

from __future__ import annotations

import numpy as np

from pellucid.witnesses.tree import TreeWitness

# Everything is laid out in inches, y pointing down.
MARGIN = 0.2
PICTURE = (1.1, 0.92)  # the room of a substructure
CAPTION = 0.17  # the line below it
BOND, LONG_BOND = 0.25, 0.42  # bonds where there is room, and those at a single atom
MOLECULE = (2.5, 1.8)
GAP = 0.56  # between rows
LINE = 0.155  # a line of text in a leaf
LEAST = 4.6  # the width of the smallest figure
COLUMN = 5.0  # the least width of a column of notes
NAME = 1.0  # the longest name of an output
SIGN = 0.22  # a sign of the legend, with the space after it
# Sizes of letters, in points.
TITLE, VALUE, TEXT, NOTE = 11.0, 9.0, 7.5, 7.0


class Layout:
    """Where the nodes are: leaves equally spaced, each split above the middle of its two sides."""

    def __init__(self, witness: TreeWitness, shown: list[int]) -> None:
        nodes = witness.nodes
        self.feature, self.left, self.right, self.size = (
            nodes[name].tolist() for name in ("feature", "left", "right", "size")
        )
        self.shown, self.outputs = shown, len(witness.output_names)
        self.names = [witness.output_names[k] for k in shown]
        self.value = nodes["value"][:, shown]
        self.leaves = [node for node in range(len(self.feature)) if self.feature[node] < 0]
        self.leaf = self._leaf_size()
        slot = max(self.leaf[0] + 0.1, (PICTURE[0] + 0.16) / 2, (PICTURE[0] + self.leaf[0] + 0.2) / 3)
        self.x, self.row = [0.0] * len(self.feature), [0] * len(self.feature)
        self.width = slot * self._place(0, 0, 0, slot)
        rows = [[node for node, row in enumerate(self.row) if row == k] for k in range(max(self.row) + 1)]
        heights = [max(self.box(node)[1] for node in row) for row in rows]
        self.tops = np.cumsum([0.0, *(height + GAP for height in heights)]).tolist()
        self.height = self.tops[-1] - GAP

    def _place(self, node: int, row: int, leaves: int, slot: float) -> int:
        """Place a node and all below it, with so many leaves at its left; gives the leaves up to its right."""
        self.row[node] = row
        if self.feature[node] < 0:
            self.x[node] = (leaves + 0.5) * slot
            return leaves + 1
        for side in (self.left[node], self.right[node]):
            leaves = self._place(side, row + 1, leaves, slot)
        self.x[node] = (self.x[self.left[node]] + self.x[self.right[node]]) / 2
        return leaves

    def _leaf_size(self) -> tuple[float, float]:
        texts, height = [number(v) for v in self.value[self.leaves].flatten()], LINE * (len(self.shown) + 1) + 0.12
        if len(self.shown) == 1:
            width = max(length(text, VALUE, bold=True) for text in texts)
        elif not self.shown:
            width = 0.0
        else:
            names = max(length(fit(name, NAME, TEXT), TEXT) for name in self.names)
            width = names + 0.1 + max(length(text, TEXT) for text in texts)
        members = max(length(f"n = {self.size[node]}", TEXT) for node in self.leaves)
        return max(width, members, 0.36) + 0.14, height

    def box(self, node: int) -> tuple[float, float]:
        """The width and height of a node."""
        return self.leaf if self.feature[node] < 0 else (PICTURE[0], PICTURE[1] + CAPTION)

    def top(self, node: int) -> float:
        return float(self.tops[self.row[node]])

    def free(self, height: float) -> float:
        """How wide a picture so high may be in the upper left corner."""
        high = [node for node in range(len(self.x)) if self.top(node) < height + GAP]
        return min(self.x[node] - self.box(node)[0] / 2 for node in high)


def flow(items: list[tuple[str, str]], width: float) -> list[list[tuple[float, str, str]]]:
    """Lines of (x, sign, text), each as full as fits."""
    lines: list[list[tuple[float, str, str]]] = [[]]
    x = 0.0
    for sign, text in items:
        text = fit(text, width - SIGN, NOTE)
        taken = (SIGN if sign else 0) + length(text, NOTE)
        if lines[-1] and x + taken > width:
            lines.append([])
            x = 0.0
        lines[-1].append((x, sign, text))
        x += taken + 0.2
    return lines


def number(value: float) -> str:
    """Three digits, zeros included: 7.20 beside 7.58."""
    return f"{value:#.3g}".rstrip(".")


def length(text: str, size: float, *, bold: bool = False) -> float:
    """Of a line of text, in inches, with a little to spare: letters are wider where pixels are coarse."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight="bold" if bold else "normal")
    return 1.05 * float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72


def fit(text: str, width: float, size: float) -> str:
    """The text, or as much of its beginning as fits."""
    if length(text, size) <= width:
        return text
    return next((f"{text[:k]}…" for k in range(len(text), 0, -1) if length(f"{text[:k]}…", size) <= width), "…")


def wrap(text: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """Lines that fit, broken between words, or within a word that is longer than a line."""
    lines = [""]
    for word in text.split():
        if lines[-1] and length(f"{lines[-1]} {word}", size, bold=bold) <= width:
            lines[-1] += f" {word}"
            continue
        if lines[-1]:
            lines.append("")
        for letter in word:
            if lines[-1] and length(lines[-1] + letter, size, bold=bold) > width:
                lines.append("")
            lines[-1] += letter
    return lines
