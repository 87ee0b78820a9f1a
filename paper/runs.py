"""What all experiments share: a configuration in, one report per cell out, cells side by side, nothing done twice."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

ROOT = Path(__file__).resolve().parent.parent
SIZES = ("paper", "cpu", "smoke")
# The paper's trees: leaves of any size, whose values are left as they are.
PAPER_TREES: dict[str, Any] = {"shrinkage": 0.0, "min_leaf": 1}
# The analogs that explanations were first given.
PAPER_MEMBERS: dict[str, Any] = {"explained_groups": 20, "explained_members": 300}
PACKAGES = ("pellucid", "torch", "numpy", "numba", "lightning", "scikit-learn")

Cell: TypeAlias = dict[str, Any]
"""The complete configuration of one run, its name included; plain values only."""


class Stage(NamedTuple):
    """Cells of a study that need nothing of each other, only the reports of earlier stages."""

    cells: list[Cell]
    alone: bool = False
    """Whether they run one after the other, because one takes all cores or its time is a result."""
    note: str = ""
    """What the stages before have decided, to be printed."""


def load_config(name: str, size: str) -> dict[str, Any]:
    """The settings of `paper/<name>.toml`, with those of one size merged in."""
    config = tomllib.loads((ROOT / "paper" / f"{name}.toml").read_text())
    sizes = config.pop("sizes")
    if size not in sizes:
        raise SystemExit(f"The size must be one of {', '.join(sizes)}. Got {size}.")
    return {**config, **sizes[size], "size": size}


def study_parser(
    description: str | None, reports: Path, *, sizes: Sequence[str] = SIZES, jobs: int = 1, table: bool = True
) -> argparse.ArgumentParser:
    """The options that all studies have: `size`, `jobs`, `only`, `out`, and `table` where one is made."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=sizes, default="cpu")
    parser.add_argument("--jobs", type=int, default=jobs, help="cells to run side by side, each on one core")
    parser.add_argument("--only", nargs="+", metavar="CELL", help="names of cells, or patterns such as 'deep-*'")
    parser.add_argument(
        "--out", type=Path, default=reports, help="where reports go; in an empty folder all cells are run again"
    )
    if table:
        parser.add_argument("--table", action="store_true", help="show what is there instead of running anything")
    return parser


def show(sections: Mapping[str, str], arguments: argparse.Namespace, reports: Path) -> None:
    """Print sections of `paper/README.md`, and write them there if they are those of the study itself."""
    for mark, text in sections.items():
        print(text, end="\n\n")
        if arguments.size == "cpu" and arguments.out == reports:
            write_section(ROOT / "paper" / "README.md", mark, text)


def provenance() -> dict[str, Any]:
    """Versions, commit and machine: what is needed to repeat a run."""
    changes = _git("status", "--porcelain", "src", "paper/*.py", "paper/*.toml")
    return {
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": None if changes is None else bool(changes),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def _git(*arguments: str) -> str | None:
    try:
        answer = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603, S607
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


def write_report(path: Path, report: Mapping[str, Any]) -> None:
    """Written whole or not at all: an existing report is a finished run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in report.items())
    draft.write_text(f"{{\n{lines}\n}}\n")
    os.replace(draft, path)


def read_reports(folder: Path) -> dict[str, dict[str, Any]]:
    """All finished cells of a folder by name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def matching(cells: Iterable[Cell], patterns: Sequence[str] | None) -> list[Cell]:
    """The cells whose name is one of these, or fits a pattern such as 'deep-*'; all without any pattern."""
    everything = list(cells)
    if patterns is None:
        return everything
    found = [cell for cell in everything if _fits(cell, patterns)]
    if not found:
        raise _none_fits(everything, patterns)
    return found


def _none_fits(cells: Iterable[Cell], patterns: Sequence[str]) -> SystemExit:
    known = ", ".join(cell["name"] for cell in cells)
    return SystemExit(f"Cells must be some of {known}, or patterns of these names. Got {', '.join(patterns)}.")


def _fits(cell: Cell, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(cell["name"], pattern) for pattern in patterns)


def not_run(cells: Iterable[Cell], reports: Mapping[str, Any]) -> str:
    """A sentence on the cells that have no report, for the end of a table; empty if all have one."""
    missing = [f"`{cell['name']}`" for cell in cells if cell["name"] not in reports]
    return f" Not run yet: {', '.join(missing)}." if missing else ""


def run_cells(cells: Iterable[Cell], run: Callable[[Cell], dict[str, Any]], folder: Path, jobs: int) -> None:
    """Run every cell that has no report of the same configuration yet, `jobs` of them side by side.

    A report gets the cell's configuration, the run's own results, provenance and wall time. An interrupted
    call is simply repeated.
    """
    waiting = []
    for cell in cells:
        path = folder / f"{cell['name']}.json"
        if path.exists() and json.loads(path.read_text())["config"] == cell:
            print(f"{cell['name']}: done before", flush=True)
        else:
            waiting.append(cell)
    start = time.monotonic()
    # As the workers load their code once, when they start: later edits do not reach them.
    origin = provenance()
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(_run_cell, run, cell, folder, origin): cell["name"] for cell in waiting}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                seconds = future.result()
                total = time.monotonic() - start
                print(
                    f"{futures[future]}: {seconds:.0f} s ({done} of {len(futures)}, {total:.0f} s in all)", flush=True
                )
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run_stages(
    stages: Iterable[Stage],
    run: Callable[[Cell], dict[str, Any]],
    folder: Path,
    jobs: int,
    only: Sequence[str] | None = None,
) -> None:
    """Run the stages of a study one after the other, or their cells of some names (see `matching`).

    A generator of stages may read the reports of those before.
    """
    everything: list[Cell] = []
    for stage in stages:
        everything += stage.cells
        cells = [cell for cell in stage.cells if only is None or _fits(cell, only)]
        if cells and stage.note:
            print(stage.note, flush=True)
        run_cells(cells, run, folder, 1 if stage.alone else jobs)
    if only is not None and not any(_fits(cell, only) for cell in everything):
        raise _none_fits(everything, only)


def reports_to_choose_by(folder: Path, reports: Path) -> dict[str, dict[str, Any]]:
    """The reports in a folder, and in the place of those that are not there the study's own.

    So that a cell whose weight others have chosen can be run alone, in an empty folder.
    """
    return {**read_reports(reports / folder.name), **read_reports(folder)}


def saved_model(folder: Path, command: str) -> Path:
    """The folder of a trained model; an error that says how to train it if there is none."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} must hold a trained model. Got none; {command} trains it.")
    return folder


def results_parser(description: str | None) -> argparse.ArgumentParser:
    """The options of programs that write the tables of a study into `paper/README.md`; smoke runs have none."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=[size for size in SIZES if size != "smoke"], default="cpu")
    return parser


def require_reports(folder: Path, study: str) -> dict[str, dict[str, Any]]:
    """The reports of a study; an error if there are none."""
    reports = read_reports(folder)
    if not reports:
        raise SystemExit(
            f"{folder} must hold reports. Got none; python -m paper.{study} --size {folder.name} makes them."
        )
    return reports


def finished(stages: Iterable[Stage], folder: Path) -> bool:
    """Whether every cell has a report of its configuration; stages are asked for only as far as they are finished."""
    for stage in stages:
        reports = read_reports(folder)
        if any(reports.get(cell["name"], {}).get("config") != cell for cell in stage.cells):
            return False
    return True


def _run_cell(run: Callable[[Cell], dict[str, Any]], cell: Cell, folder: Path, origin: Mapping[str, Any]) -> float:
    start = time.monotonic()
    results = run(cell)
    seconds = time.monotonic() - start
    write_report(
        folder / f"{cell['name']}.json", {"config": cell, **results, **origin, "wall_seconds": round(seconds, 1)}
    )
    return seconds


def half_width(sample: NDArray[np.float64]) -> float:
    """Half of the 95 % interval of a mean; not a number for a single value."""
    from scipy.stats import t

    n = len(sample)
    return float(sample.std(ddof=1) / n**0.5 * t.ppf(0.975, n - 1)) if n > 1 else float("nan")


def mean_interval(values: ArrayLike, digits: int = 3, sign: str = "") -> str:
    """A mean with its 95 % interval; one value alone has none."""
    array = np.asarray(values, dtype=float)
    if not len(array) or not np.isfinite(array).all():
        return ""
    text = f"{array.mean():{sign}.{digits}f}"
    return f"{text} ± {half_width(array):.{digits}f}" if len(array) > 1 else text


def mean_difference(differences: ArrayLike, digits: int = 3) -> str:
    """The mean of paired differences, with its sign and its 95 % interval."""
    return mean_interval(differences, digits, sign="+")


def save_figure(figure: Figure, path: Path) -> None:
    """As .png and as .svg; the same figure is the same file."""
    from matplotlib import rc_context

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_name(f"{path.name}.png"), dpi=130)
    with rc_context({"svg.hashsalt": path.name}):
        figure.savefig(path.with_name(f"{path.name}.svg"), metadata={"Date": None})


def read_section(path: Path, mark: str) -> str | None:
    """What stands between two marks of a Markdown file; None if they are not there."""
    begin, end = _marks(mark)
    _, marked, rest = path.read_text(encoding="utf-8").partition(f"{begin}\n")
    return rest.partition(end)[0].strip() if marked else None


def write_section(path: Path, mark: str, text: str) -> None:
    """Replace what stands between two marks of a Markdown file."""
    content = path.read_text(encoding="utf-8")
    begin, end = _marks(mark)
    if begin not in content or end not in content:
        sys.exit(f"{path} must have the marks {begin} and {end}.")
    head, rest = content.split(begin, 1)
    tail = rest.split(end, 1)[1]
    path.write_text(f"{head}{begin}\n{text.strip()}\n{end}{tail}", encoding="utf-8")


def _marks(mark: str) -> tuple[str, str]:
    """Begin and end of a section, as pymdownx.snippets knows them: pages of the documentation include it by name."""
    name = mark.replace(": ", "-").replace(" ", "-")
    return f"<!-- --8<-- [start:{name}] -->", f"<!-- --8<-- [end:{name}] -->"
