"""Draws the map of the house as one SVG, from the imports of the sources: python docs/house.py

Every public module and package of `pellucid` stands above all that it imports, also those imported inside functions.
A line leads down to what is imported and not reached otherwise.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path

import grimp

Graph = Mapping[str, frozenset[str]]
"""Of each name, what it imports."""

PICTURE = Path(__file__).with_name("house.svg")
WIDTH, BOX, ROW, MARGIN = 1000, 26, 64, 14
LETTER = 7.4  # as wide as a letter of the font may be
STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink);
         text-anchor: middle; }
  rect { fill: var(--module); stroke: var(--line); }
  .package rect { fill: var(--package); } .package text { font-weight: 700; }
  path { fill: none; stroke: var(--line); stroke-opacity: .55; }
  svg { --ink: #1d2733; --module: #eef4f7; --package: #cfe7e4; --line: #6d8291; }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #e4e9ee; --module: #26313b; --package: #17504a; --line: #8497a5; } }
"""


def imports() -> Graph:
    """Of every module of the package, the modules that it imports anywhere, but for type checkers."""
    graph = grimp.build_graph("pellucid", exclude_type_checking_imports=True, cache_dir=None)
    return {module: frozenset(graph.find_modules_directly_imported_by(module)) for module in graph.modules}


def within(graph: Graph, package: str) -> Graph:
    """The parts of a package as the nodes of a graph, each a module, or a package with all that is in it."""
    depth = package.count(".") + 2

    def part(module: str) -> str:
        return ".".join(module.split(".")[:depth])

    inside = {module for module in graph if module.startswith(f"{package}.")}
    parts: dict[str, set[str]] = {part(module): set() for module in inside}
    for module in inside:
        parts[part(module)] |= {part(other) for other in graph[module] & inside} - {part(module)}
    return {name: frozenset(others) for name, others in parts.items()}


def reachable(graph: Graph) -> Graph:
    """Of each node, all that it imports, directly or through others."""
    reached = {}
    for node in graph:
        seen: set[str] = set()
        stack = [node]
        while stack:
            new = graph[stack.pop()] - seen
            seen |= new
            stack += new
        reached[node] = frozenset(seen)
    return reached


def cycles(graph: Graph) -> set[frozenset[str]]:
    """The groups of nodes that import each other, directly or through others of the group."""
    reached = reachable(graph)
    groups = {node: frozenset(other for other in reached[node] if node in reached[other]) for node in graph}
    return {group for group in groups.values() if group}


def without(graph: Graph, nodes: Iterable[str]) -> Graph:
    """Some nodes taken out: who imported them imports what they imported."""
    rest = {node: set(others) for node, others in graph.items()}
    for node in nodes:
        others = rest.pop(node)
        for imported in rest.values():
            if node in imported:
                imported |= others
                imported.discard(node)
    return {node: frozenset(others - {node}) for node, others in rest.items()}


def floors(graph: Graph) -> list[list[str]]:
    """The nodes by height, lowest first: each just above the highest of those that it imports."""
    reached = reachable(graph)
    height: dict[str, int] = {}
    for node in sorted(graph, key=lambda node: (len(reached[node]), node)):
        below = [height[other] for other in graph[node] if other in height]
        height[node] = 1 + max(below, default=-1)
    return [sorted(node for node in graph if height[node] == level) for level in range(1 + max(height.values()))]


def shown() -> tuple[Graph, set[str]]:
    """What is drawn, each with what it imports and does not reach otherwise, and which of them are packages."""
    modules = imports()
    parts = within(modules, "pellucid")
    graph = without(parts, sorted(node for node in parts if node.rpartition(".")[2].startswith("_")))
    reached = reachable(graph)
    direct = {node: graph[node] - frozenset().union(*(reached[other] for other in graph[node])) for node in graph}
    return direct, {module.rpartition(".")[0] for module in modules}


def arranged(graph: Graph) -> dict[str, tuple[float, float, float]]:
    """Left, top and width of the box of each node; nodes stand near those that they import."""
    boxes: dict[str, tuple[float, float, float]] = {}
    rows = floors(graph)
    for level, row in enumerate(rows):
        below = {node: [x + width / 2 for x, _, width in (boxes[o] for o in graph[node] if o in boxes)] for node in row}
        row = [node for _, node in sorted((statistics.fmean(below[node] or [WIDTH / 2]), node) for node in row)]
        widths = [len(name.rpartition(".")[2]) * LETTER + 18 for name in row]
        gap = min(60.0, (WIDTH - 2 * MARGIN - sum(widths)) / max(len(row) - 1, 1))
        x = (WIDTH - sum(widths) - gap * (len(row) - 1)) / 2
        for name, width in zip(row, widths, strict=True):
            boxes[name] = (x, MARGIN + (len(rows) - 1 - level) * ROW, width)
            x += width + gap
    return boxes


def figure() -> str:
    """The picture: public modules and packages, the lowest at the bottom."""
    graph, packages = shown()
    boxes = arranged(graph)
    lines = []
    for upper in sorted(graph):
        for lower in sorted(graph[upper]):
            (x0, y0, w0), (x1, y1, w1) = boxes[upper], boxes[lower]
            a, b, c, d = x0 + w0 / 2, y0 + BOX, x1 + w1 / 2, y1
            bend = (d - b) / 2
            lines.append(f'<path d="M{a:.0f} {b:.0f}C{a:.0f} {b + bend:.0f} {c:.0f} {d - bend:.0f} {c:.0f} {d:.0f}"/>')
    shapes = [
        f'<g class="{"package" if name in packages else "module"}"><title>{name}</title>'
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{w:.0f}" height="{BOX}" rx="5"/>'
        f'<text x="{x + w / 2:.0f}" y="{y + 17.5}">{name.rpartition(".")[2]}</text></g>'
        for name, (x, y, w) in boxes.items()
    ]
    height = max(y for _, y, _ in boxes.values()) + BOX + MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img">'
    title = "<title>The modules of pellucid: each stands above all that it imports</title>"
    return "\n".join([head, title, f"<style>{STYLE}</style>", *lines, *shapes, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(figure(), encoding="utf-8")
