"""Tables: predictors of a column that follow, around every row, a law in the units of the table.

`TransparentRegressor` and `TransparentClassifier` are estimators of scikit-learn, which they need: the extra `tables`.
"""

import lazy_loader

# `__init__.pyi` says where each public name comes from; it is looked up when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
