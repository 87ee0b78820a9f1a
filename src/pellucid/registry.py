"""The registry of domains: those of Pellucid, of installed packages, and those that were registered."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pellucid.capabilities import SupportsStructures
from pellucid.domains import Domain
from pellucid.errors import InputError, Parameter, PellucidWarning
from pellucid.summaries import MODEL_FOLDERS

if TYPE_CHECKING:
    from pellucid.auditing.predictions import StructureFeatures
    from pellucid.datasets import DataSet

AnyDomain: TypeAlias = Domain[Any, Any]

_registered: dict[str, AnyDomain] = {}


def register(domain: AnyDomain) -> AnyDomain:
    """Make a domain available to runs, reports and the command line; one of the same name is replaced."""
    _registered[domain.name] = domain
    return domain


def domains() -> dict[str, AnyDomain]:
    """All domains by their names: those of Pellucid, then of installed packages, then those that were registered."""
    return {**_installed(), **_registered}


@cache
def _installed() -> dict[str, AnyDomain]:
    from pellucid.molecules.domain import MoleculeDomain
    from pellucid.molecules.vae.domain import AutoencoderDomain
    from pellucid.series.domain import SeriesDomain
    from pellucid.tabular.domain import TableDomain

    plugins = [_plugin(entry) for entry in entry_points(group="pellucid.domains")]
    own: list[AnyDomain] = [MoleculeDomain(), SeriesDomain(), AutoencoderDomain(), TableDomain()]
    available = [*own, *filter(None, plugins)]
    return {domain.name: domain for domain in available}


def _plugin(entry: EntryPoint) -> AnyDomain | None:
    """The domain of an installed package; None, and a warning, if it cannot be made: all others work without it."""
    try:
        domain = entry.load()()
        if not isinstance(domain, Domain):
            raise TypeError(f"a domain must derive from pellucid.domains.Domain, not be {type(domain).__name__}")
    except Exception as error:
        package = f" of {entry.dist.name}" if entry.dist else ""
        warnings.warn(
            f"The domain {entry.name!r}{package} is left out, as it cannot be loaded ({type(error).__name__}: "
            f"{error}); update or uninstall its package",
            PellucidWarning,
            stacklevel=3,
        )
        return None
    return domain


def domain_named(name: str) -> AnyDomain:
    """The domain of this name, as a summary has it."""
    available = domains()
    if name not in available:
        raise InputError(
            f"A run must be of one of the domains {', '.join(available)}",
            got=repr(name),
            cure="install the package that it comes from",
        )
    return available[name]


def structure_features() -> StructureFeatures:
    """What witnesses read of structures in tables of predictions, by the first domain that has some."""
    return next(domain for domain in domains().values() if isinstance(domain, SupportsStructures)).structure_features()


def data_sets() -> dict[str, DataSet]:
    """The data sets of all domains by their names."""
    return {data.name: data for domain in domains().values() for data in domain.data_sets()}


def find_model(folder: str | Path, which: str | None = None) -> tuple[AnyDomain, Path]:
    """The domain of a saved model and its folder; see `load`."""
    names = list(MODEL_FOLDERS.values())
    if which not in (None, *names):
        choices = " or ".join(f'"{name}"' for name in names)
        raise InputError(f"{Parameter('which')} must be {choices}", got=f"{which!r}", parameter="which")
    folder = Path(folder)
    inner = [folder / name for name in ([which] if which else names)]
    for candidate in [folder, *inner]:
        for domain in domains().values():
            if (candidate / f"{domain.file}.json").is_file():
                return domain, candidate
    raise InputError(
        "A model must be the folder of a run, or of a saved model",
        got=f"{folder}, where there is {'none called ' + which if which else 'none' if folder.exists() else 'nothing'}",
        cure="correct the path",
    )


def load(folder: str | Path, which: str | None = None) -> Any:
    """The model of a run, or one that `save` wrote, whatever its domain.

    Parameters
    ----------
    folder : str or Path
        The folder of a run, or of a model.
    which : {"game", "deep"}, optional
        Which model of a run; by default GAME if there is one.
    """
    domain, path = find_model(folder, which)
    return domain.load(path)
