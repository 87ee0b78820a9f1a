"""Multi-channel time series: forecasts, and the local autoregressive laws that they follow."""

import lazy_loader

# `__init__.pyi` says where each public name comes from; it is looked up when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
