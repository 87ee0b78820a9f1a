"""Pellucid trains predictors that behave, around every point, like a simple function that a person can read."""

import sys
from importlib import import_module

import lazy_loader

__version__ = "0.1.0"

# `__init__.pyi` says where each public name comes from. It is looked up when it is first used, so that
# `pellucid --help` need not wait for torch.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

if "torch" in sys.modules:  # it must know the neighborhoods that `torch.load` may read
    import_module("pellucid.neighborhoods")
