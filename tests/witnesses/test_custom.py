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
