"""Terms of a law, against fits that are done again without each member."""

import numpy as np
import pytest
from rdkit import Chem
from sklearn.linear_model import Ridge

from pellucid.molecules import Morgan
from pellucid.molecules.contributions import atom_sums, terms_of

RIDGE = 2.5


def problem(m=12, outputs=2, seed=0):
    """Bits of which 1 and 4 are equal, 2 is never and 3 always set."""
    random = np.random.default_rng(seed)
    x = random.integers(0, 2, (m, 9)).astype(np.uint8)
    x[:, 4], x[:, 2], x[:, 3] = x[:, 1], 0, 1
    return x, random.normal(size=(m, outputs))


def coefficients(x, f):
    return Ridge(alpha=RIDGE).fit(x, f).coef_.T


def terms(x, f):
    return terms_of(x, coefficients(x, f), f, RIDGE)


def test_bits_that_are_equal_in_all_members_are_one_term_and_constant_bits_none():
    x, f = problem()
    law = terms(x, f)
    assert sorted(sorted(bits.tolist()) for bits in law.bits) == [[0], [1, 4], [5], [6], [7], [8]]
    merged = next(t for t, bits in enumerate(law.bits) if len(bits) == 2)
    np.testing.assert_allclose(law.values[merged], coefficients(x, f)[[1, 4]].sum(0))
    for t, bits in enumerate(law.bits):
        assert law.counts[t] == x[:, bits[0]].sum()
        assert law.present[t] == x[0, bits[0]]


def test_contributions_add_up_from_the_mean_of_the_law():
    x, f = problem()
    law, fit = terms(x, f), Ridge(alpha=RIDGE).fit(x, f)
    values = fit.predict(x)
    np.testing.assert_allclose(values.mean(0) + law.contributions.sum(0), values[0], rtol=1e-12)


def test_errors_are_the_jackknife_over_laws_fitted_without_one_member():
    x, f = problem()
    law, m = terms(x, f), len(x)
    refits = np.array([coefficients(np.delete(x, j, 0), np.delete(f, j, 0)) for j in range(m)])  # (m, P, K)
    for t, bits in enumerate(law.bits):
        sums = refits[:, bits].sum(1)
        expected = np.sqrt((m - 1) / m * np.square(sums - sums.mean(0)).sum(0))
        np.testing.assert_allclose(law.errors[t], expected, rtol=1e-9)


def test_a_neighborhood_in_which_nothing_varies_has_no_terms():
    law = terms_of(np.ones((1, 5), dtype=np.uint8), np.zeros((5, 2)), np.zeros((1, 2)), 0.0)
    assert law.bits == []
    assert law.values.shape == law.errors.shape == law.contributions.shape == (0, 2)


def test_atoms_share_what_the_terms_contribute():
    morgan, smiles = Morgan(), "CCCl"
    bits = {radius: Morgan(radius=radius)([smiles]).dense()[0].nonzero().flatten().numpy() for radius in (0, 1)}
    # Three different atoms set three bits of radius 0; a chlorine alone has a bit of its own.
    single = Morgan(radius=0)(["ClC"]).dense()[0].nonzero().flatten().tolist()
    chlorine = next(
        b for b in bits[0].tolist() if b in single and b not in Morgan(radius=0)(["CCC"]).dense()[0].nonzero()
    )
    sums = atom_sums(smiles, morgan, [np.array([chlorine])], np.array([[1.5, -3.0]]))
    np.testing.assert_array_equal(sums, [[0, 0], [0, 0], [1.5, -3.0]])
    # The largest environment of propyl chloride covers all three atoms.
    larger = np.array(sorted(set(bits[1].tolist()) - set(bits[0].tolist())))
    law = np.random.default_rng(0).normal(size=(len(larger), 2))
    alone = atom_sums(smiles, morgan, [larger[i : i + 1] for i in range(len(larger))], law)
    np.testing.assert_allclose(alone.sum(0), law.sum(0))
    # One term of equal bits is colored as its bits would be.
    equal = np.full((len(larger), 2), 0.5)
    apart = atom_sums(smiles, morgan, [larger[i : i + 1] for i in range(len(larger))], equal)
    np.testing.assert_allclose(atom_sums(smiles, morgan, [larger], equal.sum(0)[None]), apart)


@pytest.mark.parametrize("smiles", ["c1ccc(Cl)cc1Cl", "CC(C)(C)C"])
def test_a_substructure_that_occurs_several_times_is_shared_over_all_places(smiles):
    morgan = Morgan()
    all_bits = morgan([smiles]).dense()[0].nonzero().flatten().numpy()
    sums = atom_sums(smiles, morgan, [all_bits], np.ones((1, 1)))[:, 0]
    assert sums.sum() == pytest.approx(1)
    ranks = list(Chem.CanonicalRankAtoms(Chem.MolFromSmiles(smiles), breakTies=False))
    for i, a in enumerate(ranks):  # atoms that are alike have the same color
        assert all(sums[i] == pytest.approx(sums[j]) for j, b in enumerate(ranks) if a == b)
