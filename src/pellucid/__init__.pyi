# The public names and where they come from, listed once: lazy-loader looks a name up here when it is first used, and
# type checkers and editors read the same lines. `X as X` says that X is public.

from . import equilibrium as equilibrium
from . import metrics as metrics
from .auditing import Audit as Audit
from .auditing import audit as audit
from .bank import Bank as Bank
from .builders import from_lists as from_lists
from .builders import from_pairs as from_pairs
from .builders import nearest as nearest
from .builders import sampled as sampled
from .builders import windows as windows
from .builders import within as within
from .deviations import absolute_error as absolute_error
from .deviations import gaussian_kl as gaussian_kl
from .deviations import squared_error as squared_error
from .errors import ConvergenceError as ConvergenceError
from .errors import InputError as InputError
from .errors import PellucidError as PellucidError
from .errors import PellucidWarning as PellucidWarning
from .games import AsymmetricGame as AsymmetricGame
from .games import Game as Game
from .games import Outcome as Outcome
from .games import SumOfGames as SumOfGames
from .games import SymmetricGame as SymmetricGame
from .games import UniformGame as UniformGame
from .minibatches import Minibatch as Minibatch
from .minibatches import OverlapSampler as OverlapSampler
from .minibatches import overlap_order as overlap_order
from .minibatches import sample_minibatch as sample_minibatch
from .mirror_prox import MirrorProx as MirrorProx
from .neighborhoods import Neighborhoods as Neighborhoods
from .neighborhoods import Windows as Windows
from .registry import load as load
from .trust import Calibration as Calibration
from .trust import calibrate as calibrate
from .witnesses import BestOf as BestOf
from .witnesses import ConstantFamily as ConstantFamily
from .witnesses import LinearFamily as LinearFamily
from .witnesses import SparseLinearFamily as SparseLinearFamily
from .witnesses import TreeFamily as TreeFamily
from .witnesses import Witness as Witness
from .witnesses import Witnesses as Witnesses
from .witnesses import WitnessFamily as WitnessFamily
from .witnesses import effective_depth as effective_depth
from .witnesses import fit_each as fit_each
from .witnesses import lag_names as lag_names
from .witnesses import lagged as lagged

__version__: str
