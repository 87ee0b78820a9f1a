"""The map of laws: what each column contributes over all rows, and regions of rows that share a law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch

from pellucid.builders import from_lists
from pellucid.errors import quietly
from pellucid.numbers import counted, percent
from pellucid.schemas import SchemaError, Size, as_written, checked, shown
from pellucid.tabular.dates import date_text
from pellucid.tabular.encoding import Encoding
from pellucid.tabular.law_text import law_terms
from pellucid.witnesses import TreeFamily
from pellucid.witnesses.linear import LinearWitness
from pellucid.witnesses.tree_witness import TreeNode, TreeWitness

if TYPE_CHECKING:
    from pellucid.tabular.explanations import RowExplanations

# Columns of the beeswarm, rows in it, and terms of a region's law.
_COLUMNS, _ROWS, _TERMS = 10, 400, 4
# Regions are leaves of a tree this deep, each with a share of the rows; splits must explain as much of the laws.
_DEPTH, _SHARE, _GAIN = 3, 0.06, 0.1
# Laws that vary less than this share of their size are one law.
_SAME = 0.05
# Of a column that varies around some rows of a region, features that vary around fewer than this share are no term.
_RARE = 0.05


@final
@dataclass(frozen=True, kw_only=True)
class Swarm:
    """What one column contributes in many rows."""

    column: str
    contributions: tuple[float, ...]
    positions: tuple[float, ...]
    """Where each row's value stands among all of them: 0 the lowest, 1 the highest."""
    values: tuple[str, ...]


@final
@dataclass(frozen=True, kw_only=True)
class Region:
    """Rows that share a law."""

    rule: str
    """Which rows, in words."""
    count: Size
    law: str
    """The mean of their laws, in the units of the table."""
    explained: float | None
    """Held-out variance explained, the median over the rows."""
    prediction: float
    """The mean prediction."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LawMap:
    """All rows by their laws.

    Attributes
    ----------
    output : str
        What is explained.
    rows : int
        The number of rows.
    labels : tuple of str
        What the rows of the swarms are called; of many rows a random sample.
    swarms : tuple of Swarm
        The columns that contribute most, the strongest first.
    regions : tuple of Region
        The largest first; the rule of each is exact.
    shared : float
        The share of the differences between laws that the regions account for.
    """

    output: str
    rows: Size
    labels: tuple[str, ...]
    swarms: tuple[Swarm, ...]
    regions: tuple[Region, ...]
    shared: float

    @classmethod
    def of(cls, explanations: RowExplanations, output: int = 0) -> LawMap:
        """The map of some rows; one of the K values is looked at.

        Regions are the leaves of a small tree over the table that predicts laws: coefficients, or contributions where
        laws are trees. Each law of a region is the mean of those of its rows.
        """
        model = explanations.model
        regions, shared = _regions(explanations, output)
        return cls(
            output=model.task_.outputs[output],
            rows=len(explanations),
            labels=tuple(explanations.labels[i] for i in _sample(len(explanations))),
            swarms=_swarms(explanations, output),
            regions=regions,
            shared=shared,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> LawMap:
        """What `to_dict` gave."""
        with as_written("A map of laws must be as it was written", where="one", cure="run again"):
            law_map = checked(cls, content)
            for swarm in law_map.swarms:
                if {len(swarm.contributions), len(swarm.positions), len(swarm.values)} != {len(law_map.labels)}:
                    raise SchemaError(f"the rows of {shown(swarm.column)} are not as many as the labels")
        return law_map

    def __str__(self) -> str:
        if len(self.regions) == 1:
            head = f"{self.output}: one law for all {counted(self.rows, 'row')}"
        else:
            head = (
                f"{self.output}: {counted(len(self.regions), 'region')} of {counted(self.rows, 'row')}, which account "
                f"for {percent(self.shared, 0)} of the differences between laws"
            )
        lines = []
        for region in self.regions:
            lines += [f"  {region.rule} ({counted(region.count, 'row')})", f"    {region.law}"]
        return "\n".join([head, *lines])


def _sample(rows: int) -> np.ndarray:
    if rows <= _ROWS:
        return np.arange(rows)
    return np.sort(np.random.default_rng(0).permutation(rows)[:_ROWS])


def _swarms(explanations: RowExplanations, output: int) -> tuple[Swarm, ...]:
    amounts, used = explanations.contributions[:, :, output], explanations.model.encoding_.used
    rows = _sample(len(explanations))
    order = np.argsort(-np.abs(amounts).mean(0), kind="stable")[:_COLUMNS]
    swarms = []
    for c in order.tolist():
        codes = explanations.codes[:, c]
        ranks = np.argsort(np.argsort(np.nan_to_num(codes, nan=used[c].median), kind="stable"), kind="stable")
        different, places = np.unique(codes, return_inverse=True)
        # Equal values stand at the same place.
        means = np.bincount(places, ranks) / np.bincount(places)
        positions = means[places] / max(len(codes) - 1, 1) if len(different) > 1 else np.full(len(codes), 0.5)
        swarms.append(
            Swarm(
                column=used[c].name,
                contributions=tuple(amounts[rows, c].tolist()),
                positions=tuple(np.round(positions[rows], 4).tolist()),
                values=tuple(used[c].text(code) for code in codes[rows]),
            )
        )
    return tuple(swarms)


def _regions(explanations: RowExplanations, output: int) -> tuple[tuple[Region, ...], float]:
    model = explanations.model
    encoding, n = model.encoding_, len(explanations)
    laws = _law_vectors(explanations, output)
    least = max(round(_SHARE * n), 5)
    varied = float(np.square(laws - laws.mean(0)).sum())
    tree, shared = None, 0.0
    if varied > _SAME * float(np.square(laws).sum()) and n >= 2 * least:
        for depth in range(1, _DEPTH + 1):
            with quietly():
                fitted = TreeFamily(depth=depth, min_leaf=least).best_response(
                    explanations.scaled, torch.from_numpy(laws), from_lists([range(n)])
                )
            left = float(np.square(laws - fitted.at_members().numpy()).sum())
            if 1 - left / varied < shared + _GAIN:
                break
            tree, shared = fitted[0], 1 - left / varied
    if not isinstance(tree, TreeWitness):
        return (_region(explanations, np.arange(n), "all rows", output),), 0.0
    leaves = np.array([tree.path(row)[-1] for row in explanations.scaled])
    rules = _rules(tree.root, encoding)
    regions = [_region(explanations, np.flatnonzero(leaves == leaf), rule, output) for leaf, rule in rules.items()]
    return tuple(sorted(regions, key=lambda region: -region.count)), shared


def _law_vectors(explanations: RowExplanations, output: int) -> np.ndarray:
    """(n, .) what is compared: coefficients in standard deviations, or contributions of trees."""
    if explanations.coefficients is not None:
        return np.ascontiguousarray(explanations.coefficients[:, :, output])
    return np.ascontiguousarray(explanations.contributions[:, :, output])


def _rules(root: TreeNode, encoding: Encoding) -> dict[int, str]:
    """Which rows come to each leaf, in words."""
    rules: dict[int, str] = {}

    def walk(node: TreeNode, bounds: dict[str, str]) -> None:
        if node.is_leaf:
            rules[node.index] = " and ".join(bounds.values()) or "all rows"
            return
        for branch, upper in zip(node.branches, (True, False), strict=True):
            key, words = _condition(node, encoding, upper=upper)
            walk(branch, {**bounds, key: words})

    walk(root, {})
    return rules


def _condition(node: TreeNode, encoding: Encoding, *, upper: bool) -> tuple[str, str]:
    j = node.feature
    column, name = encoding.used[encoding.column_of[j]], encoding.feature_names[j]
    if encoding.is_indicator[j]:
        inner = name.removeprefix("(").removesuffix(")")
        words = (
            inner.replace(" is blank", " is not blank") if " is blank" in inner else inner.replace(" = ", " is not ", 1)
        )
        return name, words if upper else inner
    value = node.threshold * encoding.scale[j] + encoding.shift[j]
    text = date_text(value) if column.kind == "date" else f"{value:.4g}"
    return f"{name} {upper}", f"{name} {'<=' if upper else '>'} {text}"


def _region(explanations: RowExplanations, rows: np.ndarray, rule: str, output: int) -> Region:
    explained = explanations.held_out_explained[rows, output]
    known = explained[~np.isnan(explained)]
    return Region(
        rule=rule,
        count=len(rows),
        law=_mean_law(explanations, rows, output),
        explained=float(np.median(known)) if len(known) else None,
        prediction=float(explanations.prediction[rows, output].mean()),
    )


def _mean_law(explanations: RowExplanations, rows: np.ndarray, output: int) -> str:
    """The mean of the laws of some rows in words: the columns that matter most there, and what they do, on average over
    the rows around which they vary.
    """
    model = explanations.model
    encoding, used = model.encoding_, model.encoding_.used
    amounts = np.abs(explanations.contributions[rows, :, output]).mean(0)
    strongest = np.argsort(-amounts, kind="stable")[:_TERMS].tolist()
    if explanations.coefficients is None:
        return ", ".join(f"{used[c].name} ({amounts[c]:.3g} on average)" for c in strongest)
    vectors = _law_vectors(explanations, output)[rows]
    # Columns that a sparse law leaves out have no part in it.
    mean = vectors.mean(0) if model.witness_ == "sparse" else mean_where_known(vectors, encoding)
    rare = {name for name, share in zip(encoding.feature_names, (vectors != 0).mean(0), strict=True) if share < _RARE}
    outputs = len(model.task_.outputs)
    law = LinearWitness(
        coefficients=torch.from_numpy(np.repeat(mean[:, None], outputs, axis=1)), intercept=torch.zeros(outputs),
        center=0, size=len(rows), rmse=0.0, feature_names=encoding.feature_names,
        output_names=list(model.task_.outputs),
    )  # fmt: skip
    _, terms = law_terms(law, encoding, model.task_, output)
    chosen = []
    for c in strongest:
        own = sorted((t for t in terms if t.column == c and t.weight), key=lambda t: (t.name in rare, -abs(t.weight)))
        chosen += [term for i, term in enumerate(own[:2]) if i == 0 or term.name not in rare]
    return ", ".join(f"{term.weight:+.3g} {_per(term.name, used[term.column].kind)}" for term in chosen)


def mean_where_known(vectors: np.ndarray, encoding: Encoding) -> np.ndarray:
    """(P,) means of coefficients (n, P). Of what does not vary around a row its law knows nothing, and has a 0 there,
    which does not count; levels are compared with the first of them where both occur.
    """
    vectors, known = vectors.copy(), vectors != 0
    for c, column in enumerate(encoding.used):
        if column.has_levels and len(column.levels) > 2:
            first, *others = np.flatnonzero(encoding.column_of == c)
            shares = encoding.scale[others] / encoding.scale[first]
            vectors[:, others] -= shares * vectors[:, [first]]
            known[:, others] &= known[:, [first]]
            known[:, first] = False
    means: np.ndarray = (vectors * known).sum(0) / np.maximum(known.sum(0), 1)
    return means


def _per(name: str, kind: str) -> str:
    return f"for {name}" if name.startswith("(") else f"per {'day of ' if kind == 'date' else ''}{name}"
