"""Where everything of a drawn tree goes, and how much room texts take."""

from __future__ import annotations

from itertools import accumulate

from pellucid.numbers import decimals, fixed
from pellucid.witnesses.tree_witness import TreeNode, TreeWitness

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

    def __init__(self, witness: TreeWitness, outputs: list[int]) -> None:
        self.root, self.leaves = witness.root, witness.root.leaves()
        self.nodes = list(self.root.walk())
        self.outputs = outputs
        self.names = [witness.output_names[k] for k in outputs]
        digits = [decimals(leaf.value[k] for leaf in self.leaves) for k in outputs]
        # The values of each leaf as text, with as many decimals as tell the leaves apart.
        self.texts = {
            leaf.index: [fixed(leaf.value[k], d) for k, d in zip(outputs, digits, strict=True)] for leaf in self.leaves
        }
        self.leaf = self._leaf_size()
        slot = max(self.leaf[0] + 0.1, (PICTURE[0] + 0.16) / 2, (PICTURE[0] + self.leaf[0] + 0.2) / 3)
        self.x: dict[int, float] = {}
        self.row: dict[int, int] = {}
        self.width = slot * self._set_positions(self.root, 0, 0, slot)
        heights = [0.0] * (self.root.depth + 1)
        for node in self.nodes:
            row = self.row[node.index]
            heights[row] = max(heights[row], self.box(node)[1])
        self.tops = list(accumulate((height + GAP for height in heights), initial=0.0))
        self.height = self.tops[-1] - GAP

    def _set_positions(self, node: TreeNode, row: int, leaves: int, slot: float) -> int:
        """Place a node and all below it, with `leaves` leaves at its left; returns the number up to its right end."""
        self.row[node.index] = row
        if node.is_leaf:
            self.x[node.index] = (leaves + 0.5) * slot
            return leaves + 1
        for branch in node.branches:
            leaves = self._set_positions(branch, row + 1, leaves, slot)
        self.x[node.index] = sum(self.x[branch.index] for branch in node.branches) / 2
        return leaves

    def _leaf_size(self) -> tuple[float, float]:
        texts, height = (
            [text for leaf_texts in self.texts.values() for text in leaf_texts],
            LINE * (len(self.outputs) + 1) + 0.12,
        )
        if len(self.outputs) == 1:
            width = max(length(text, VALUE, bold=True) for text in texts)
        elif not self.outputs:
            width = 0.0
        else:
            names = max(length(fit(name, NAME, TEXT), TEXT) for name in self.names)
            width = names + 0.1 + max(length(text, TEXT) for text in texts)
        members = max(length(f"n = {leaf.size}", TEXT) for leaf in self.leaves)
        return max(width, members, 0.36) + 0.14, height

    def box(self, node: TreeNode) -> tuple[float, float]:
        """The width and height of a node."""
        return self.leaf if node.is_leaf else (PICTURE[0], PICTURE[1] + CAPTION)

    def top(self, node: TreeNode) -> float:
        """The distance of a node's upper end from that of the root."""
        return self.tops[self.row[node.index]]

    def free(self, height: float) -> float:
        """The width that is free in the upper left corner, down to a height."""
        upper = [node for node in self.nodes if self.top(node) < height + GAP]
        return min(self.x[node.index] - self.box(node)[0] / 2 for node in upper)


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


def length(text: str, size: float, *, bold: bool = False) -> float:
    """The length of a line of text in inches, with a little to spare: letters are wider where pixels are coarse."""
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
