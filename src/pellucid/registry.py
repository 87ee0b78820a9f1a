"""The domains that there are: those of Pellucid, those of installed packages, and those that are registered here."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.domains import Domain
from pellucid.errors import InputError, Parameter

if TYPE_CHECKING:
    from pellucid.predictions import StructureFeatures

_domains: dict[str, Domain[Any, Any]] = {}


def register(domain: Domain[Any, Any]) -> Domain[Any, Any]:
    """Make a domain known to runs, reports and the command line; one of the same name is replaced."""
    _domains[domain.name] = domain
    return domain


def domains() -> dict[str, Domain[Any, Any]]:
    """All domains by their names."""
    if not _domains:
        from pellucid.molecules.domain import MoleculeDomain
        from pellucid.molecules.vae.domain import AutoencoderDomain
        from pellucid.series.domain import SeriesDomain

        for domain in (MoleculeDomain(), SeriesDomain(), AutoencoderDomain()):
            register(domain)
        for found in entry_points(group="pellucid.domains"):
            register(found.load()())
    return dict(_domains)


def domain_named(name: str) -> Domain[Any, Any]:
    """The domain of this name, as a summary has it."""
    known = domains()
    if name not in known:
        raise InputError(
            f"A run must be of one of the domains {', '.join(known)}",
            got=repr(name),
            cure="install the package that it comes from",
        )
    return known[name]


def structure_features() -> StructureFeatures:
    """What witnesses read of molecules in tables of predictions."""
    from pellucid.molecules.structure_features import FingerprintFeatures

    return FingerprintFeatures()


def find_model(folder: str | Path, which: str | None = None) -> tuple[Domain[Any, Any], Path]:
    """The domain of a saved model and its folder; see `load`."""
    if which not in (None, "game", "deep"):
        raise InputError(f'{Parameter("which")} must be "game" or "deep"', got=f"{which!r}", parameter="which")
    folder = Path(folder)
    for place in [folder, *(folder / name for name in ([which] if which else ["game", "deep"]))]:
        for domain in domains().values():
            if (place / f"{domain.file}.json").is_file():
                return domain, place
    raise InputError(
        "A model is a folder that `pellucid train` or `save` wrote",
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
    domain, place = find_model(folder, which)
    return domain.load(place)
