"""Names of columns: what they mean, and which one may have been meant."""

import pytest

from pellucid import InputError
from pellucid.tables.names import normalized, require_column, smiles_index


def test_capitals_blanks_and_hyphens_do_not_matter():
    assert {normalized(name) for name in ("Compound ID", " compound-id", "compound_id ")} == {"compound_id"}


@pytest.mark.parametrize(
    ("header", "index"),
    [
        (["id", "SMILES"], 1),
        (["Mol", "canonical-smiles"], 1),  # the surer name wins, wherever it stands
        (["structure", "molecule"], 0),
        (["id", "y"], None),
        ([], None),
    ],
)
def test_the_column_of_smiles_is_known_by_its_name(header, index):
    assert smiles_index(header) == index


def test_a_column_that_is_not_there_is_refused_with_the_one_that_was_meant():
    require_column("y", ["x", "y"], "a.csv", "A target")
    with pytest.raises(InputError) as caught:
        require_column("log_p", ["smiles", "Log P"], "a.csv", "A target")
    assert str(caught.value) == (
        "A target must be a column of a.csv. Got 'log_p'; did you mean 'Log P'? Its columns are smiles, Log P."
    )
    with pytest.raises(InputError, match="Got 'zzz'; its columns are smiles, y"):
        require_column("zzz", ["smiles", "y"], "a.csv", "A target")
