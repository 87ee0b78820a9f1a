"""The checks of families catch what they must."""

import pytest
import torch

import pellucid as pl
from pellucid.testing import check_response

pytestmark = pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose


def test_the_checks_catch_a_family_that_breaks_the_contract():
    class Restless(pl.WitnessFamily):
        def best_response(self, x, f, hoods):
            shift = torch.rand(1).item()
            return pl.fit_each(lambda x, f: lambda new: torch.full((len(new), 1), shift), x, f, hoods)

    with pytest.raises(AssertionError, match="the same response to the same predictions"):
        check_response(Restless(), torch.zeros(3, 1), torch.zeros(3, 1), pl.windows([3], radius=1))

    class Wrong(pl.WitnessFamily):
        def best_response(self, x, f, hoods):
            fitted = pl.LinearFamily().best_response(x, f, hoods)
            fitted.residuals[0] += 1
            return fitted

    with pytest.raises(AssertionError, match="follow their definition"):
        check_response(Wrong(), torch.zeros(3, 1), torch.zeros(3, 1), pl.windows([3], radius=1))
