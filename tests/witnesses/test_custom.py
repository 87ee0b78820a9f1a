import pytest
import torch
from sklearn.linear_model import Lasso
from sklearn.svm import SVR

import pellucid as pl


class LassoFamily(pl.WitnessFamily):
    def best_response(self, x, f, hoods):
        def fit(x, f):
            return Lasso(alpha=0.05).fit(x, f).predict

        return pl.fit_each(fit, x, f, hoods)


def test_any_fitting_routine_makes_a_family_that_every_game_accepts(generator):
    x = torch.randn(40, 3, generator=generator, dtype=torch.float64)
    f = torch.randn(40, 2, generator=generator, dtype=torch.float64, requires_grad=True)
    hoods = pl.nearest(x, k=10)
    outcome = pl.SymmetricGame(LassoFamily(), weight=0.5)(f, x, hoods)
    for i in (0, 7, 39):
        own = hoods.members_of(i)
        values = Lasso(alpha=0.05).fit(x[own], f[own].detach()).predict(x[own])
        expected = (f[own].detach() - torch.from_numpy(values)).square().sum(1).mean()
        torch.testing.assert_close(outcome.deviations[i], expected)
    direct = pl.SymmetricGame(LassoFamily(), weight=0.5, form="direct")(f, x, hoods)
    gradients = [torch.autograd.grad(o.penalty, f)[0] for o in (outcome, direct)]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-10)
    assert pl.AsymmetricGame(LassoFamily())(f, x, hoods).penalty > 0
    witness = outcome.witnesses[0]
    assert witness.text() == "f0, f1 = Lasso(alpha=0.05)"
    assert witness.to_dict()["function"] == "Lasso(alpha=0.05)"
    torch.testing.assert_close(witness(x[hoods.members_of(0)]), outcome.witnesses.at_members()[:10])


def test_one_output_may_be_predicted_as_a_vector(generator):
    x = torch.randn(20, 2, generator=generator)
    hoods = pl.nearest(x, k=6)
    fitted = pl.fit_each(lambda x, f: SVR().fit(x, f[:, 0]).predict, x, x[:, 0], hoods)
    assert fitted.at_members().shape == (120, 1)


def test_a_wrong_prediction_names_what_was_expected():
    x = torch.zeros(4, 1)
    hoods = pl.windows([4], radius=1)
    wrong_shape = pl.fit_each(lambda x, f: lambda new: torch.zeros(1, 1), x, torch.zeros(4, 2), hoods)
    with pytest.raises(pl.PellucidError, match=r"one column per output, \(2, 2\). Got \(1, 1\)"):
        wrong_shape.at_members()
    not_finite = pl.fit_each(lambda x, f: lambda new: torch.full((len(new), 1), torch.nan), x, x, hoods)
    with pytest.raises(pl.PellucidError, match="the witness's prediction` must be finite"):
        not_finite.at_centers()


def test_fit_must_return_a_function_and_may_be_a_torch_model():
    x = torch.rand(6, 2)
    hoods = pl.windows([6], radius=2)
    with pytest.raises(pl.PellucidError, match="must return a function that predicts. Got Lasso; return its method"):
        pl.fit_each(lambda x, f: Lasso().fit(x, f), x, x, hoods)
    layer = torch.nn.Linear(2, 1)
    f = torch.rand(6, 1, requires_grad=True)
    fitted = pl.fit_each(lambda x, f: lambda new: layer(torch.from_numpy(new)), x, f, hoods)
    assert not fitted.at_members().requires_grad
    assert pl.fit_each(lambda x, f: lambda new: new[:, :1], x.bfloat16(), f, hoods).at_members().shape == (24, 1)


def test_names_must_fit():
    x = torch.zeros(4, 2)
    fitted = pl.ConstantFamily().best_response(x, x, pl.windows([4], radius=1))
    with pytest.raises(pl.PellucidError, match="one name for each of the 2 features. Got 3"):
        fitted.named(["a", "b", "c"])
    with pytest.raises(pl.PellucidError, match="reads 2 features. Got 1 columns"):
        fitted[0](torch.zeros(3, 1))
    with pytest.raises(IndexError):
        fitted[4]
    assert [w.center for w in fitted] == [0, 1, 2, 3]
    assert fitted[-1].center == 3


@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose
def test_the_best_of_several_is_saturated_where_the_chosen_one_is():
    generator = torch.Generator().manual_seed(0)
    x, f = torch.rand(40, 2, generator=generator), torch.rand(40, 1, generator=generator)
    hoods = pl.from_lists([range(0, 3), range(3, 40), range(7, 10)])
    chosen = pl.BestOf(pl.ConstantFamily(), pl.LinearFamily()).best_response(x, f, hoods)
    assert chosen.choice.tolist() == [1, 1, 1]
    assert chosen.saturated().tolist() == [True, False, True]
    assert chosen.saturated(torch.tensor([1, 2])).tolist() == [False, True]
    means = pl.BestOf(pl.ConstantFamily(), pl.LinearFamily()).best_response(x, torch.ones(40, 1), hoods)
    assert not means.saturated().any()  # the first of equals


def brute_force(family, x, f, hoods, folds):
    """(M, K) held-out values in plain loops, one fit for each neighborhood and fold."""
    values = torch.empty(len(hoods.members), f.shape[1], dtype=f.dtype)
    for i in range(len(hoods)):
        own, first = hoods.members_of(i), int(hoods.offsets[i])
        exact = isinstance(family, pl.LinearFamily)
        for fold in range(len(own) if exact else folds):
            out = torch.arange(len(own)) % (len(own) if exact else folds) == fold
            fitted = family.best_response(x, f, pl.from_lists([own[~out].tolist()], [int(own[0])], len(x)))
            values[first + out.nonzero().flatten()] = fitted.evaluate(torch.zeros(int(out.sum())).long(), x[own[out]])
    return values


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose
@pytest.mark.parametrize("deviation", [pl.squared_error, pl.absolute_error])
def test_the_best_held_out_is_the_one_of_brute_force(deviation, generator):
    x = torch.randn(60, 4, generator=generator, dtype=torch.float64)
    noise = torch.randn(60, 2, generator=generator, dtype=torch.float64)
    f = torch.where(x[:, :1] > 0, x[:, :2], noise)  # laws on one side, noise on the other
    hoods = pl.nearest(x, k=12)
    families = [pl.LinearFamily(), pl.TreeFamily(depth=2), LassoFamily()]
    best = pl.BestOf(families, by="held_out", deviation=deviation, folds=3)
    fitted = best.best_response(x, f, hoods)
    by_hand = [brute_force(family, x, f, hoods, 3) for family in families]
    deviations = torch.stack(
        [hoods.sum_members(deviation(f[hoods.members], values)) / hoods.sizes for values in by_hand]
    )
    choice = deviations.argmin(0)
    assert len(choice.unique()) == 3
    assert torch.equal(fitted.choice, choice)
    expected = torch.stack(by_hand)[choice[hoods.rows], torch.arange(len(hoods.rows))]
    torch.testing.assert_close(fitted.held_out_values(folds=3), expected)
    torch.testing.assert_close(best.held_out_values(x, f, hoods, folds=3), expected)
    torch.testing.assert_close(fitted.held_out(folds=3).deviations(deviation), deviations.amin(0))
    # In-sample, the most flexible one follows its members best, whatever holds.
    assert not torch.equal(pl.BestOf(families, deviation=deviation).best_response(x, f, hoods).choice, choice)
    # Other folds than those of the choice: the same witnesses, left out in another way.
    others = torch.stack([brute_force(family, x, f, hoods, 4) for family in families])
    expected = others[choice[hoods.rows], torch.arange(len(hoods.rows))]
    torch.testing.assert_close(fitted.held_out_values(folds=4), expected)


def test_the_best_at_members_chooses_again_without_the_members_that_are_left_out(generator):
    x = torch.randn(30, 1, generator=generator, dtype=torch.float64)
    f = torch.randn(30, 1, generator=generator, dtype=torch.float64)
    hoods = pl.nearest(x, k=8)
    best = pl.BestOf(pl.ConstantFamily(), pl.TreeFamily(depth=1))
    values = best.best_response(x, f, hoods).held_out_values(folds=4)
    torch.testing.assert_close(values, brute_force(best, x, f, hoods, 4))


def test_a_wrong_choice_of_the_best_is_refused():
    with pytest.raises(pl.InputError, match='`by` of BestOf must be "members" or "held_out". Got \'folds\''):
        pl.BestOf(pl.ConstantFamily(), by="folds")
    with pytest.raises(pl.InputError, match="`folds` must be a whole number >= 2"):
        pl.BestOf(pl.ConstantFamily(), folds=1)
    shown = repr(pl.BestOf(pl.ConstantFamily(), by="held_out", folds=3))
    assert shown == "BestOf(ConstantFamily(), deviation=squared_error, by='held_out', folds=3)"
