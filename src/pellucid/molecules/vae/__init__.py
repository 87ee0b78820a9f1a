"""Molecules as points: a junction-tree variational autoencoder whose encoder trees can read."""

import lazy_loader

# `__init__.pyi` says where each public name comes from; it is looked up when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
