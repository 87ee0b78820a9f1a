"""SMILES as molecules: the complete text, or a sentence that says what is wrong with it."""

from __future__ import annotations

import re

from rdkit import Chem

from pellucid.errors import InputError
from pellucid.schemas import shown

# RDKit walks through molecules by functions that call themselves: very large ones overflow its stack, and with it the
# process.
_MOST_ATOMS, _MOST_LETTERS = 1_000, 10_000
_ATOM = re.compile(r"\[[^\]]*\]?|Br|Cl|[BCNOPSFI]|[bcnops*]")


def parse(text: str) -> tuple[Chem.Mol | None, str]:
    """The molecule of a text without white space around it, or None and the reason.

    RDKit takes whatever follows white space for a name or for extensions of SMILES: of "CC O" it reads CC.

    Examples
    --------
    >>> parse("CC O")
    (None, "white space inside, so that only 'CC' would be read; ...")
    >>> parse("C" * 20_000)
    (None, 'a text of 20,000 letters, of which 10,000 are allowed')
    >>> parse("C" * 5_000)
    (None, 'a molecule of 5,000 atoms, of which 1,000 are allowed')
    """
    if len(text) > _MOST_LETTERS:
        return None, f"a text of {len(text):,} letters, of which {_MOST_LETTERS:,} are allowed"
    atoms = len(_ATOM.findall(text)) if len(text) > _MOST_ATOMS else 0
    if atoms > _MOST_ATOMS:
        return None, f"a molecule of {atoms:,} atoms, of which {_MOST_ATOMS:,} are allowed"
    molecule = Chem.MolFromSmiles(text) if text else None
    if molecule is None:
        return None, "not a valid SMILES" if text else "no SMILES"
    first, *rest = text.split(maxsplit=1)
    if not rest:
        return molecule, ""
    if rest[0].startswith("|"):
        return None, f"a CXSMILES extension, {rest[0][:20]!r}, which is not understood; write it as plain SMILES"
    return None, (
        f"white space inside, so that only {first[:40]!r} would be read; take it out, or put names into another column"
    )


def molecule_of(text: str) -> Chem.Mol:
    """The molecule of a SMILES that must be valid."""
    molecule, reason = parse(text)
    if molecule is None:
        raise InputError(
            "Every SMILES must be valid", got=f"{shown(text)} ({reason})", cure="clean them with `prepare`"
        )
    return molecule
