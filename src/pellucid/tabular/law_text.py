"""Laws in words, in the units of the table."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import torch

from pellucid.numbers import counted, number
from pellucid.tabular.columns import Column
from pellucid.tabular.dates import date_text
from pellucid.tabular.encoding import Encoding
from pellucid.tabular.tasks import TableTask
from pellucid.witnesses.text import law_text, tree_text
from pellucid.witnesses.tree_witness import TreeNode, TreeWitness
from pellucid.witnesses.witness import Witness

# Terms of an equation that are written out.
_TERMS = 8


def usual(column: Column, codes: np.ndarray) -> str:
    """What the values of a column are in some rows: their mean, or the commonest level with its share."""
    if not len(codes):
        return "-"
    if column.has_levels:
        (code, count), *_ = Counter(codes.tolist()).most_common(1)
        share = "" if count == len(codes) else f" ({100 * count / len(codes):.0f} %)"
        return f"{column.text(code)}{share}"
    mean = float(np.where(np.isnan(codes), column.median, codes).mean())
    if column.kind == "date":
        return date_text(round(mean) if column.whole else mean)
    return number(mean, 4)


def effect(c: int, encoding: Encoding, coefficients: np.ndarray, scale: float, code: float, near: np.ndarray) -> str:
    """What a linear law says of a column: for numbers the change per unit, for levels one against another.

    Parameters
    ----------
    c : int
        The column, among those used.
    encoding : Encoding
        Its features and their scales.
    coefficients : ndarray
        (P,) of scaled features.
    scale : float
        Of the target.
    code : float
        The row's value.
    near : ndarray
        (k,) the values of the nearest rows.
    """
    column, places = encoding.used[c], np.flatnonzero(encoding.column_of == c)
    if column.has_levels:
        others = Counter(value for value in near.tolist() if value != code and value >= 0)
        if code < 0 or not others:
            return "no other level nearby" if not others else ""
        other = others.most_common(1)[0][0]
        worth = level_worth(column, coefficients[places])
        gap = (worth[int(code)] - worth[int(other)]) * scale
        return f"{_signed(gap)} against {column.levels[int(other)]}"
    if not coefficients[places[0]] and (_alike(near) or np.isnan(code)):
        return "no other value nearby"
    slope = coefficients[places[0]] * scale / encoding.scale[places[0]]
    return f"{_signed(slope)} per {'day' if column.kind == 'date' else '1'}"


def _alike(values: np.ndarray) -> bool:
    known = values[~np.isnan(values)]
    return not len(known) or bool((known == known[0]).all())


def level_worth(column: Column, coefficients: np.ndarray) -> np.ndarray:
    """(L,) what each level of a column is worth; only their differences mean something."""
    return np.append(0.0, coefficients) if len(column.levels) == 2 else coefficients


def equation(law: Witness, encoding: Encoding, task: TableTask, k: int, amounts: np.ndarray) -> str:
    """One output of a law in the units of the table: an equation with its strongest terms, or a tree.

    Parameters
    ----------
    law : Witness
        The law, of scaled features.
    encoding : Encoding
        Names and scales of the features.
    task : TableTask
        The unit of the target.
    k : int
        The output.
    amounts : ndarray
        (C,) the contribution of each column, by which terms are chosen.
    """
    if isinstance(law, TreeWitness):
        return _tree(law, encoding, task, k)
    constant, terms = law_terms(law, encoding, task, k)
    # Levels that the law does not tell apart here are not worth a term.
    strong = sorted((term for term in terms if term.weight), key=lambda term: -abs(amounts[term.column]))
    more = f" ... ({counted(len(strong) - _TERMS, 'weaker term')})" if len(strong) > _TERMS else ""
    shown = [(term.weight, term.name) for term in strong[:_TERMS]]
    return f"{task.outputs[k]} = {law_text([(constant, ''), *shown], digits=4)}{more}"


class LawTerm(NamedTuple):
    """One term of a linear law, in the units of the table."""

    column: int
    """The column, among those used."""
    weight: float
    name: str
    """A number, or "(colour = red)": 1 where the row has this level, and compared with the commonest level."""


def law_terms(law: Witness, encoding: Encoding, task: TableTask, k: int) -> tuple[float, list[LawTerm]]:
    """A linear law in the units of the table: its constant, and its terms.

    Of the levels of a category the commonest is part of the constant, and the others count against it.
    """
    count = len(encoding.shift)
    unit = law.predict(torch.cat([torch.zeros(1, count), torch.eye(count)]).double())[:, k].double().numpy()
    slopes = (unit[1:] - unit[0]) * task.scale / encoding.scale
    constant = task.shift + unit[0] * task.scale - float(slopes @ encoding.shift)
    terms = []
    for c, column in enumerate(encoding.used):
        places = np.flatnonzero(encoding.column_of == c)
        several = column.has_levels and len(column.levels) > 2
        first = slopes[places[0]] if several else 0.0
        constant += first
        names = encoding.feature_names
        terms += [LawTerm(c, float(slopes[j] - first), names[j]) for j in places[int(several) :]]
    return float(constant), terms


def _tree(law: TreeWitness, encoding: Encoding, task: TableTask, k: int) -> str:
    def split(node: TreeNode) -> tuple[str, str]:
        name, column = encoding.feature_names[node.feature], encoding.used[encoding.column_of[node.feature]]
        if encoding.is_indicator[node.feature]:
            return f"unless {name}:", f"else:  # {name}"
        value = node.threshold * encoding.scale[node.feature] + encoding.shift[node.feature]
        text = date_text(value) if column.kind == "date" else f"{value:.6g}"
        return f"if {name} <= {text}:", f"else:  # {name} > {text}"

    def leaf(node: TreeNode) -> str:
        return f"{task.outputs[k]} = {node.value[k] * task.scale + task.shift:.4g}"

    return tree_text(law.root, split=split, leaf=leaf)


def _signed(value: float) -> str:
    text = number(float(value), 3)
    return text if text.startswith("-") else f"+{text}"
