"""A table of mixed columns whose laws are known."""

import numpy as np
import pandas as pd

SMALL = {"epochs": 60, "width": 32, "ensemble": 2, "learning_rate": 0.01, "dropout": 0.0, "random_state": 0}


def houses(rows=300, seed=0):
    """A table of mixed columns whose prices follow two laws: rooms are worth 20 each, and in the city 40."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(
        {
            "rooms": rng.uniform(1, 8, rows),
            "age": rng.uniform(0, 90, rows),
            "colour": rng.choice(["red", "blue", "green"], rows, p=[0.5, 0.3, 0.2]),
            "city": rng.random(rows) < 0.5,
            "sold": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, rows), "D"),
            "number": np.arange(rows),
            "country": "here",
        }
    )
    price = np.where(x.city, 40, 20) * x.rooms - 0.5 * x.age + np.where(x.colour == "red", 30, 0)
    return x, price.rename("price")
