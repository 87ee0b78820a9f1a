"""Explanations of a table of any length: shards of numbers, of which pages show the distribution and the extremes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from pellucid.bulk.models import folder_digest, loaded_model
from pellucid.domains import MessageCallback
from pellucid.numbers import number
from pellucid.row_domains import RowDomain
from pellucid.runs.results import select_examples
from pellucid.sharding import Executor, Job, Range, contents, discard, identity_of, run
from pellucid.tables import Table, TableRanges, read_range, table_ranges

if TYPE_CHECKING:
    from pellucid.explanations import Explanation

# Rows that a terminal shows of each end.
_SHOWN = 5


@final
@dataclass(frozen=True, kw_only=True)
class BulkExplanations:
    """Explanations of all rows of a file, in shards; none of them is in memory."""

    domain: RowDomain[Any, Any]
    ranges: TableRanges
    job: Job

    @classmethod
    def of(
        cls,
        domain: RowDomain[Any, Any],
        model: Path,
        path: Path,
        reading: Any,
        settings: Any,
        *,
        level: float,
        kinds: Sequence[str],
        shards: Path,
    ) -> BulkExplanations | None:
        """The explanations of a file, not made yet; None for one that is short enough to explain at once.

        Parameters
        ----------
        domain : RowDomain
            The domain of the model.
        model : Path
            The folder of the model.
        path : Path
            The table.
        reading : Options
            How it is read, of the class `Domain.Reading`.
        settings : Options
            What to explain, of the class `Domain.Explaining`.
        level : float
            The confidence of bounds.
        kinds : sequence of str
            What is to be kept of each: ".csv" its table, ".json" everything.
        shards : Path
            The folder of the shards.
        """
        ranges = table_ranges(path, domain.explained_piece)
        if ranges.count <= domain.explained_at_once:
            return None
        digest = folder_digest(model)
        chosen = {"reading": reading, "settings": settings, "level": level, "kinds": sorted(kinds)}
        job = Job(
            name="explanations",
            work=_explain_range,
            arguments={"domain": domain, "model": model.resolve(), "digest": digest, **chosen},
            ranges=[Range(part.begin, part.end, ranges.place(part)) for part in ranges.ranges],
            folder=shards,
            identity=identity_of({"job": "explanations", "domain": domain.name, **chosen}, ranges.digest, digest),
            unit=domain.samples,
        )
        return cls(domain=domain, ranges=ranges, job=job)

    def make(self, executor: Executor | None = None, *, progress: bool, warn: MessageCallback) -> None:
        """Make what is missing, and warn of rows that have no explanation.

        Parameters
        ----------
        executor : Executor, optional
            Who computes; by default this process.
        progress : bool
            Show a progress bar, with the time that is left.
        warn : callable
            Takes sentences, as in `pellucid.bulk.predictions`.
        """
        discard(self.job.folder, but=self.job)
        run(self.job, executor, progress=progress, note=warn)
        facts = [facts for part in contents(self.job) if (facts := json.loads(part.partition(b"\n")[0]))]
        for sentence in self.domain.explanation_notes(facts):
            warn(f"{self.ranges.path.name}: {sentence}")

    def __len__(self) -> int:
        return len(self._index[0])

    @cached_property
    def _index(self) -> tuple[np.ndarray, np.ndarray]:
        """(n,) the deviation of each explanation, and the number of its row."""
        both = [(item["deviation"], item["number"]) for item in self._items()]
        return np.array([d for d, _ in both], dtype=np.float64), np.array([n for _, n in both], dtype=np.int64)

    def _items(self) -> Iterator[dict[str, Any]]:
        for part in contents(self.job):
            for line in part.splitlines()[1:]:
                yield json.loads(line)

    def rows(self) -> Iterator[Sequence[Any]]:
        """All explanations as one table, with what was explained in the first column."""
        first = True
        for item in self._items():
            head, *rows = item[".csv"]
            if first:
                yield [self.domain.item, *head]
                first = False
            for row in rows:
                yield [item["label"], *row]

    def dictionaries(self) -> Iterator[dict[str, Any]]:
        """All explanations, ready for JSON, with what was explained in front."""
        for item in self._items():
            yield {**({"place": item["label"]} if item["label"] else {}), **item[".json"]}

    def text(self) -> str:
        """The distribution of the deviations, and the rows at both ends."""
        deviations, numbers = self._index
        quantiles = np.quantile(deviations, (0.1, 0.5, 0.9, 0.99))
        names = ("10 %", "median", "90 %", "99 %")
        order = np.argsort(deviations, kind="stable")
        spread = ", ".join(f"{name} {number(value, 3)}" for name, value in zip(names, quantiles, strict=True))
        ends = {"closest to its witness": order[:_SHOWN], "farthest from it": order[::-1][:_SHOWN]}
        return "\n".join(
            [
                f"{len(self):,} {self.domain.samples} explained",
                f"deviation between witness and network: {spread}, largest {number(deviations.max(), 3)}",
                *(
                    f"{title}: {', '.join(f'row {numbers[i]} ({number(deviations[i], 3)})' for i in which)}"
                    for title, which in ends.items()
                ),
            ]
        )

    def extremes(self) -> dict[str, Explanation]:
        """Explanations by their labels: those at both ends of the deviations, and others evenly between."""
        deviations, numbers = self._index
        chosen = select_examples(deviations, count=self.domain.max_examples, extremes=self.domain.max_extremes)
        wanted = [int(numbers[i]) for i, _ in chosen]
        arguments = self.job.arguments
        explained: dict[int, tuple[str, Explanation]] = {}
        model = loaded_model(self.domain, arguments["model"], arguments["digest"])
        for table in self._tables(set(wanted)):
            result = self.domain.explain_rows(
                model, table, arguments["reading"], arguments["settings"], level=arguments["level"]
            )
            labeled = zip(result.labels, result.explanations, strict=True)
            explained.update(zip(result.numbers, labeled, strict=True))
        return dict(explained[row] for row in reversed(wanted) if row in explained)

    def _tables(self, wanted: set[int]) -> Iterator[Table]:
        """The rows of these numbers, of one range after the other."""
        for part in self.ranges.ranges:
            table = read_range(**self.ranges.place(part))
            kept = [i for i, row in enumerate(table.numbers) if row in wanted]
            if kept:
                yield table._replace(rows=[table.rows[i] for i in kept], numbers=[table.numbers[i] for i in kept])


def _explain_range(
    begin: int,
    end: int,
    *,
    domain: RowDomain[Any, Any],
    model: Path,
    digest: str,
    reading: Any,
    settings: Any,
    level: float,
    kinds: Sequence[str],
    **place: Any,
) -> bytes:
    """A line of facts, and a line of each explanation, in JSON."""
    table = read_range(**place)
    if not table.rows:
        return b"{}\n"
    explained = domain.explain_rows(loaded_model(domain, model, digest), table, reading, settings, level=level)
    lines: list[Mapping[str, Any]] = [explained.facts]
    columns = (explained.labels, explained.explanations, explained.deviations, explained.numbers)
    for label, explanation, deviation, row in zip(*columns, strict=True):
        lines.append(
            {
                "label": label,
                "deviation": deviation,
                "number": row,
                **({".csv": list(explanation.rows())} if ".csv" in kinds else {}),
                **({".json": explanation.to_dict()} if ".json" in kinds else {}),
            }
        )
    return "".join(json.dumps(line) + "\n" for line in lines).encode()
