"""Tables of molecules as a domain: read, split, learned from, measured, explained."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pellucid.capabilities import Demo, SupportsDemo, SupportsStructures
from pellucid.domains import (
    Evaluation,
    ExplainedPoint,
    ExplanationSet,
    MessageCallback,
    Plan,
    Source,
    TrainingOptions,
)
from pellucid.errors import InputError, Parameter
from pellucid.molecules.base_domain import (
    BaseMoleculeDomain,
    explanation_notes,
    labeled_molecules,
    molecules_in,
    require_enough,
)
from pellucid.molecules.domain_options import MoleculePredicting, MoleculeReading, MoleculeSettings
from pellucid.options import Options
from pellucid.row_domains import ExplainedRows, PredictedRows, RowDomain

if TYPE_CHECKING:
    from pellucid.auditing.predictions import StructureFeatures
    from pellucid.datasets import DataSet
    from pellucid.molecules.property_model import PropertyModel
    from pellucid.molecules.table import Molecules
    from pellucid.summaries import Measure, RunSummary
    from pellucid.tables import Table

# The most test molecules that are explained to find the extremes.
_EXPLAINED = 300
# A witness of fewer members has little to say.
_MEMBERS = 15


class MoleculeDomain(
    RowDomain["Molecules", "PropertyModel"], BaseMoleculeDomain["PropertyModel"], SupportsDemo, SupportsStructures
):
    """Properties of molecules, explained by small trees of substructures, or by what each of these contributes."""

    name: ClassVar[str] = "molecules"
    about: ClassVar[str] = "Learn properties of molecules from a table, and explain each prediction by substructures."
    source: ClassVar[str] = "A table with a column of SMILES."
    file: ClassVar[str] = "property_model"
    unexplained: ClassVar[str] = "the explanations fail at molecules they were not fitted to"
    explained_piece: ClassVar[int] = 64  # a second each, where analogs are made

    Reading: ClassVar[type[Options]] = MoleculeReading
    Settings: ClassVar[type[TrainingOptions]] = MoleculeSettings
    Predicting: ClassVar[type[Options]] = MoleculePredicting

    # -- training ----------------------------------------------------------------------------------------------

    def read(self, path: Path, reading: MoleculeReading, model: PropertyModel | None = None) -> Molecules:
        """The molecules of a table and their measured values."""
        from pellucid.molecules import files
        from pellucid.options import names_in
        from pellucid.tables import read_table

        table = read_table(path)
        if model is not None:
            return files.read(
                table, smiles=reading.smiles, names=reading.names, targets=list(model.targets_), on_error="skip"
            )
        if path.suffix.lower() == ".smi":
            raise InputError(
                "A table to learn from must have measured values",
                got=f"{path.name}, which holds SMILES and names",
                cure='use a CSV file with a line of names, such as "smiles,name,pIC50"',
            )
        molecules = files.read(
            table,
            smiles=reading.smiles,
            names=reading.names,
            targets=names_in(reading.targets, "targets", table.header),
            on_error="skip" if reading.skip_bad_rows else "raise",
        )
        _require_values(molecules, path)
        return molecules

    def summary(self, data: Molecules) -> str:
        """The numbers of molecules and targets, and what was done to the table."""
        return data.summary()

    def check(self, settings: MoleculeSettings) -> None:
        """Refuse a pool that is no table of molecules."""
        from pellucid.molecules.files import smiles_column
        from pellucid.paths import kind_of
        from pellucid.tables import open_table

        super().check(settings)
        if settings.pool is None:
            return
        if not settings.pool.is_file():
            kind = kind_of(settings.pool)
            reasons = {None: "does not exist", "folder": "is a folder", "file": "can be read only once"}
            raise InputError(
                f"{Parameter('pool')} must be a table of molecules",
                got=f"{settings.pool}, which {reasons[kind]}",
                cure="write it to a file first" if kind == "file" else "correct the path",
                parameter="pool",
            )
        smiles_column(open_table(settings.pool).header, None, settings.pool.name)

    def plan(
        self, source: Source[Molecules], settings: MoleculeSettings, *, weight: float | None = None
    ) -> Plan[Molecules, PropertyModel]:
        """Set up a model that suits the table: a dense series needs no analogs, which makes training cheap."""
        from pellucid import runs
        from pellucid.molecules.presets import settings_for, task_of
        from pellucid.molecules.property_model import PropertyModel
        from pellucid.molecules.splitting import split

        table = source.data
        game = None if settings.game == "none" else settings.game
        analogs = None if settings.analogs == "auto" else settings.analogs == "yes"
        kind = task_of(table.y) if settings.task == "auto" else settings.task
        values = {**settings_for(table.smiles, game, analogs=analogs), **settings.chosen("depth", "patience")}
        if weight is not None:
            values["weight"] = weight
        model = PropertyModel(
            task=kind,
            game=game,
            margin=settings.margin,
            witness=settings.witness,
            held_out_game=settings.held_out,
            explain_with_analogs=settings.analogs != "no",
            **values,
        )
        parts = split(table, model.seed, settings.split)
        loss = "cross-entropy" if kind == "classification" else "root mean squared error in standard deviations"
        test = zip(parts.test.smiles, parts.test.y, strict=True)
        return Plan(
            model=model,
            parts=parts,
            sizes={name: len(part) for name, part in parts._asdict().items()},
            outputs=table.targets,
            description=table.summary(),
            digest=runs.digest(json.dumps([smiles, list(runs.finite_or_none(y))]).encode() for smiles, y in test),
            split=settings.split,
            loss=f"validation loss: {loss}",
            deviation="mean deviation on validation neighborhoods",
            notes=(
                f"task: {kind}; analogs: {'in' if model.similar.analogs else 'none in'} training, "
                f"{'in' if model.explaining.analogs else 'none in'} explanations",
            ),
            rejected=tuple(tuple(row) for row in table.rejected),
            stops_early=settings.patience is not None,
        )

    def fit(
        self,
        model: PropertyModel,
        plan: Plan[Molecules, PropertyModel],
        settings: MoleculeSettings,
        *,
        folder: Path,
        resume: bool,
        progress: bool,
    ) -> PropertyModel:
        """Train all epochs, unless a patience is set, and calibrate on the validation molecules."""
        from pellucid.molecules import files

        pool = () if settings.pool is None else files.read(settings.pool, targets=[], on_error="skip").smiles
        validation = plan.parts.validation
        model.fit(
            plan.parts.train,
            validation=0 if settings.patience is None else validation,
            pool=pool,
            folder=folder,
            resume=resume,
            progress=progress,
            **settings.hardware(),
        )
        return model.calibrate(validation, progress=progress)

    def validate(self, model: PropertyModel, data: Molecules) -> tuple[float, float]:
        """Cross-entropy or root mean squared error, and mean deviation."""
        scores = model.evaluate(data)
        return scores.loss if model.task == "classification" else scores.loss**0.5, scores.deviation or 0.0

    # -- measuring ---------------------------------------------------------------------------------------------

    def measures(self, test: Molecules, model: PropertyModel) -> Sequence[Measure]:
        """Accuracy, of each target too where there are several, and transparency."""
        from pellucid.molecules.measures import measures
        from pellucid.molecules.presets import task_of

        name = "AUC" if task_of(test.y) == "classification" else "RMSE"
        return measures(name, test, noun=model.witness_noun)

    def evaluate(self, model: PropertyModel, test: Molecules, *, progress: bool = False) -> Evaluation:
        """Scores of the network and of its witnesses."""
        from pellucid.molecules.measures import scores_of

        scores, held_out = model.evaluate_held_out(test, seed=1, progress=progress)
        return Evaluation(
            scores=scores_of(scores, model, test),
            tested=len(test),
            deviations=scores.variations[scores.sizes > 2],
            deviation_unit=f"total variation between {model.witness_noun} and network"
            + (", a sum over the targets" if len(test.targets) > 1 else "")
            + ("" if scores.measure == "AUC" else ", in standard deviations of the targets"),
            held_out=held_out,
            calibration=model.calibration_,
            units=model.task_.scale,
        )

    def remarks(self, models: Mapping[str, PropertyModel], plan: Plan[Molecules, PropertyModel]) -> list[str]:
        """Remarks on the witnesses that have been chosen, and on molecules with too few neighbors for one."""
        model = next(iter(models.values()))
        remarks = _chosen_witnesses(models) if plan.model.witness == "auto" else []
        test = plan.parts.test
        isolated = int((model.neighborhoods(test).hoods.sizes <= 2).sum())
        if not isolated:
            return remarks
        cure = "" if model.explaining.analogs else f"; {Parameter('analogs', 'auto')} would add some"
        count = f"{isolated} of {len(test)} test molecules"
        return [*remarks, f"{count} have fewer than two similar ones: they have no {model.witness_noun}{cure}."]

    def examples(
        self, model: PropertyModel, test: Molecules, *, level: float, progress: bool = False
    ) -> Sequence[ExplainedPoint]:
        """Explanations of test molecules whose neighborhoods say something."""
        from pellucid import runs

        first = test.select(range(min(len(test), _EXPLAINED)))
        explanations = model.explain_many(first, level=level, progress=progress)
        return [
            # Targets differ in their units: each deviation counts in those of its target.
            ExplainedPoint(
                label, explanation, float((explanation.deviation / model.task_.scale).sum()), runs.finite_or_none(y)
            )
            for label, explanation, y in zip(first.labels(), explanations, first.y, strict=True)
            if len(explanation.members) > 2
        ]

    # -- use ---------------------------------------------------------------------------------------------------

    def load(self, folder: Path) -> PropertyModel:
        """A saved `PropertyModel`."""
        from pellucid.molecules.property_model import PropertyModel

        return PropertyModel.load(folder)

    def outputs(self, model: PropertyModel) -> Sequence[str]:
        """The targets."""
        return model.targets_

    def check_predicting(self, settings: MoleculePredicting) -> None:
        """Refuse a level that nothing is written with."""
        from pellucid.trust import check_level

        if settings.level is not None and not (settings.trust or settings.certainty):
            raise InputError(
                f"{Parameter('level')} is the confidence of the intervals that {Parameter('certainty', True)} adds and "
                f"of the bounds that {Parameter('trust', True)} adds",
                got="neither of them",
                cure="add one",
                parameter="level",
            )
        if settings.level is not None:
            check_level(settings.level)

    def predict_rows(
        self, model: PropertyModel, table: Table, reading: MoleculeReading, settings: MoleculePredicting
    ) -> PredictedRows:
        """Each row followed by its predictions, or by why it has none."""
        from pellucid.molecules.predicting import predicted_rows
        from pellucid.trust import LEVEL

        level = LEVEL if settings.level is None else settings.level
        return predicted_rows(
            model, table, column=reading.smiles, certainty=settings.certainty, trust=settings.trust, level=level
        )

    def prediction_notes(self, facts: Sequence[Mapping[str, Any]]) -> list[str]:
        """On rows without a prediction, a witness or a bound."""
        from pellucid.molecules.predicting import prediction_notes

        return prediction_notes(facts)

    def explain(
        self,
        model: PropertyModel,
        what: str,
        reading: MoleculeReading,
        settings: Options,
        *,
        level: float,
        progress: bool,
        warn: MessageCallback,
    ) -> ExplanationSet:
        """The explanation of a molecule, or of all molecules of a table."""
        labels = molecules_in(what, reading, warn)
        if len(labels) == 1:
            explanations = [model.explain(text, level=level) for text in labels]
        else:
            explanations = model.explain_many(list(labels), level=level, progress=progress)
        return ExplanationSet(dict(zip(labels.values(), explanations, strict=True)), {})

    def explain_rows(
        self, model: PropertyModel, table: Table, reading: MoleculeReading, settings: Options, *, level: float
    ) -> ExplainedRows:
        """The explanations of the different molecules of a table."""
        molecules, facts = labeled_molecules(table, reading)
        explanations = model.explain_many(molecules.smiles, level=level) if len(molecules) else []
        return ExplainedRows(
            labels=molecules.labels(),
            explanations=explanations,
            deviations=[float((each.deviation / model.task_.scale).sum()) for each in explanations],
            numbers=[rows[0] for rows in molecules.rows],
            facts=facts,
        )

    def explanation_notes(self, facts: Sequence[Mapping[str, Any]]) -> list[str]:
        """On rows that cannot be explained, or only in part."""
        return explanation_notes(facts)

    def data_sets(self) -> Sequence[DataSet]:
        """Published molecules, and those that come with RDKit."""
        from pellucid.molecules.datasets import DATA_SETS

        return DATA_SETS

    def structure_features(self) -> StructureFeatures:
        """Bits of fingerprints."""
        from pellucid.molecules.structure_features import FingerprintFeatures

        return FingerprintFeatures()

    def demo(self, *, smoke: bool) -> Demo:
        """The sodium-channel blockers that come with RDKit."""
        from pellucid.molecules import nav17

        table = nav17()
        small = {"width": 16, "depth": 2, "epochs": 2, "analogs": "no"} if smoke else {}
        return Demo(
            title="Sodium-channel blockers (Nav1.7)",
            source=Source(table),
            settings=MoleculeSettings(task="regression", witness="contributions", held_out=True, **small),  # type: ignore[arg-type]
            notes=[f"{table.summary()}; activity is a negative decimal logarithm"],
            choose=_most_active,
            about=f"The most active molecule of the report with {_MEMBERS} members or more around it",
            picture="molecule.svg",
            weight=0.5,  # what `paper.nav17` chooses on validation data
        )


def _most_active(summary: RunSummary) -> str:
    """The most active molecule whose neighborhood is large enough."""
    examples = summary.explanations
    large = [example for example in examples if len(example.explanation["members"]) >= _MEMBERS] or examples
    best = max(large, key=lambda example: (example.measured or (0.0,))[0] or 0.0)
    return str(best.explanation["smiles"])


def _chosen_witnesses(models: Mapping[str, PropertyModel]) -> list[str]:
    """By what predictions are explained, where the validation molecules have chosen."""
    words = {"tree": "trees", "contributions": "contributions of substructures"}
    chosen = {name: model.witness_ for name, model in models.items()}
    if len(set(chosen.values())) == 1:
        (witness,) = set(chosen.values())
        other = "contributions" if witness == "tree" else "trees"
        return [
            f"Predictions are explained by {words[witness]}, which hold at least as well as {other} at validation "
            "molecules that they were not fitted to."
        ]
    each = ", ".join(f"{name} by {words[witness]}" for name, witness in chosen.items())
    return [
        f"Predictions are explained by what holds better at validation molecules: {each}. What is measured of such "
        f"different witnesses does not compare well; {Parameter('witness', 'contributions')} explains both alike."
    ]


def _require_values(table: Molecules, path: Path) -> None:
    """Refuse a table without enough measured molecules for a run."""
    if not table.targets:
        others = f" ({'; '.join(table.ignored)})" if table.ignored else ""
        raise InputError(
            f"{path.name} must have a column of measured values to learn from",
            got=f"none{others}",
            cure=f"add one, or name it with {Parameter('targets')}",
            parameter="targets",
        )
    require_enough(table, path, advice="hundreds")
