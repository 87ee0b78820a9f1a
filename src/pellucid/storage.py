"""Models on disk: a folder of JSON and safetensors. Nothing is pickled, so nothing that is loaded can run code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor

from pellucid.errors import InputError

FORMAT = 1


def save(folder: Path, name: str, content: Mapping[str, Any], tensors: Mapping[str, Mapping[str, Tensor]]) -> None:
    """Write `name`.json and one .safetensors per group of tensors; what stood there before is replaced when all is
    written.
    """
    from safetensors.torch import save_file

    from pellucid import __version__

    if folder.is_file():
        raise InputError("A model is saved as a folder", got=f"{folder}, which is a file", cure="choose another place")
    folder.mkdir(parents=True, exist_ok=True)
    drafts = {}
    for group, values in tensors.items():
        drafts[folder / f"{group}.safetensors"] = draft = folder / f"{group}.draft"
        save_file({key: value.contiguous() for key, value in values.items()}, draft)
    drafts[folder / f"{name}.json"] = draft = folder / f"{name}.draft"
    draft.write_text(json.dumps({"format": FORMAT, "pellucid": __version__, **content}, indent=1) + "\n")
    for path, draft in drafts.items():
        draft.replace(path)


def load(folder: Path, name: str, groups: Sequence[str]) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
    """What `save` wrote: the content of the JSON, and the groups of tensors."""
    from safetensors.torch import load_file

    files = [f"{name}.json", *(f"{group}.safetensors" for group in groups)]
    absent = [file for file in files if not (folder / file).is_file()]
    if absent:
        raise InputError(
            f"A saved {name} is a folder with {' and '.join(files)}",
            got=f"{folder} without {absent[0]}",
            cure="pass the folder that `save` wrote",
        )
    with as_saved(folder):
        content = json.loads((folder / files[0]).read_text())
        found, version = content["format"], content["pellucid"]
        tensors = {group: load_file(folder / f"{group}.safetensors") for group in groups}
    if found != FORMAT:
        raise InputError(
            f"The saved format must be {FORMAT}",
            got=f"{found!r}, written by Pellucid {version}",
            cure="use that version",
        )
    return content, tensors


@contextmanager
def as_saved(folder: Path) -> Iterator[None]:
    """Say of anything that goes wrong inside that the folder is not as `save` wrote it."""
    from safetensors import SafetensorError

    try:
        yield
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise InputError(
            "The files of a saved model must be as they were saved",
            got=f"{folder}, where something is not: {error}",
            cure="save the model again",
        ) from error
