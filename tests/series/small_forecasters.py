"""Forecasters so small that their training takes a moment."""

from pellucid.series import Forecaster, simulate_rig

SMALL = {"context": 12, "horizon": 6, "radius": 2, "width": 8, "epochs": 2, "batch_size": 16}

RIG = simulate_rig(rows=1500, bearings=3, seed=0)


def fit(data=RIG, **settings):
    return Forecaster(**{**SMALL, **settings}).fit(data, progress=False)


def fit_with(**options):
    return Forecaster(**SMALL).fit(RIG, progress=False, **options)
