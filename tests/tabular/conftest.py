"""Small trained models of tables, whose laws are known."""

import numpy as np
import pytest
from houses import SMALL, houses

from pellucid.tabular import TransparentClassifier, TransparentRegressor


@pytest.fixture(scope="session")
def table():
    return houses()


@pytest.fixture(scope="session")
def regressor(table):
    return TransparentRegressor(witness="linear", **SMALL).fit(*table)


@pytest.fixture(scope="session")
def classifier(table):
    x, price = table
    kind = np.where(price > 140, "dear", np.where(price > 70, "fair", "cheap"))
    return TransparentClassifier(witness="linear", **SMALL).fit(x, kind)


@pytest.fixture(scope="session")
def binary(table):
    x, price = table
    return TransparentClassifier(witness="linear", **SMALL).fit(x, np.where(price > 110, "dear", "cheap"))
