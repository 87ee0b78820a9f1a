"""SMILES as molecules: the complete text, or a sentence that says what is wrong with it."""

from __future__ import annotations

from rdkit import Chem

from pellucid.errors import InputError


def parse(text: str) -> tuple[Chem.Mol | None, str]:
    """The molecule of a text without white space around it, or None and the reason.

    RDKit takes whatever follows white space for a name or for extensions of SMILES: of "CC O" it reads CC.

    Examples
    --------
    >>> parse("CC O")
    (None, "white space inside, so that only 'CC' would be read; ...")
    """
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
        raise InputError("Every SMILES must be valid", got=f"{text!r} ({reason})", cure="clean them with `prepare`")
    return molecule
