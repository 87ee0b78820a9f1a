"""Names of columns: what they mean, and which one a user may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pellucid.errors import InputError

SMILES_NAMES = ("smiles", "canonical_smiles", "smi", "structure", "mol", "molecule")
"""Names of a column of SMILES, in the order in which they are looked for; capitals do not matter."""
ID_NAMES = ("id", "ids", "index", "idx", "key", "name", "row", "number", "no", "unnamed:_0", "")
"""Names of a column that numbers or names its rows, as `normalized` has them; and whatever ends in _id."""
ROW_NAMES = (
    "id", "name", "names", "title", "compound", "compound_id", "compound_name", "molecule_id", "molecule_name",
    "mol_id", "molecule_chembl_id", "chembl_id",
)  # fmt: skip
"""Names of a column that says what its rows are called."""


def normalized(name: str) -> str:
    """A name of a column without what people write differently: capitals, blanks and hyphens."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def smiles_index(header: Iterable[str]) -> int | None:
    """Index of the column of SMILES, recognized by its name.

    Examples
    --------
    >>> smiles_index(["id", "Canonical SMILES", "pIC50"]), smiles_index(["id", "pIC50"])
    (1, None)
    """
    names = [normalized(name) for name in header]
    return next((names.index(name) for name in SMILES_NAMES if name in names), None)


def require_column(name: str, header: Iterable[str], source: str, what: str, *, parameter: str | None = None) -> None:
    """Refuse a name that is no column, with the one that may have been meant.

    Parameters
    ----------
    name : str
        The name that a user typed.
    header : iterable of str
        The names of the columns.
    source : str
        Name of the file, for the message.
    what : str
        What the column would have been, for the message.
    parameter : str, optional
        Name of the parameter that the name was passed as.

    Examples
    --------
    >>> require_column("PIC50", ["smiles", "pIC50"], "a.csv", "A target")
    Traceback (most recent call last):
    pellucid.errors.InputError: A target must be a column of a.csv. Got 'PIC50'; did you mean 'pIC50'? Its columns ...
    """
    columns = list(header)
    if name in columns:
        return
    spellings = {normalized(other): other for other in reversed(columns)}
    close = difflib.get_close_matches(normalized(name), spellings, 1)
    meant = f"did you mean {spellings[close[0]]!r}? Its" if close else "its"
    raise InputError(
        f"{what} must be a column of {source}",
        got=f"{name!r}",
        cure=f"{meant} columns are {', '.join(columns)}",
        parameter=parameter,
    )
