"""What the regressor and the classifier have in common: fitting to many tasks, adapting to one."""

import os
import warnings
from abc import abstractmethod
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Literal, TypeVar

import jax
import numpy as np
import pandas
from sklearn.utils import Tags, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from bmaml.checks import require_whole
from bmaml.errors import BmamlError, OutsideTrainingWarning
from bmaml.estimators.one_task import adapt_to, predict_at
from bmaml.estimators.portable import pack, unpack, with_shared_code
from bmaml.estimators.settings import METHOD_OPTIONS, Settings
from bmaml.estimators.table import (
    features,
    few_of_each,
    free_name,
    pseudo_tasks,
    task_names,
    value_errors,
)
from bmaml.run_folder import RunFolder
from bmaml.tables.encoding import Encoding
from bmaml.tables.model import TableModel
from bmaml.tables.predictions import ClassPredictions, NumberPredictions
from bmaml.tables.prepare import Prepared, prepare

Estimator = TypeVar("Estimator", bound="FewShot")


class FewShot(Settings):
    """Meta-learns from many small tasks, then adapts to a new one from a few rows."""

    kind: ClassVar[Literal["numbers", "labels"]]

    # Wherever groups are passed on (`sklearn.set_config(enable_metadata_routing=True)`), they are
    # wanted here, as scikit-learn's own splitters by group want them.
    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    def fit(self: Estimator, X: Any, y: Any, groups: Any = None) -> Estimator:
        """Meta-train on the tasks that `groups` tells apart.

        Without groups all rows are one task: they are dealt at random into pseudo-tasks to train on,
        and at the end all of them are adapted to, so that `fit(X, y).predict(X)` is that of any
        regressor or classifier.

        Arguments:
            X: a DataFrame of numbers, text, categories and the like, or an array of numbers; values
                may be missing.
            y: the target of each row.
            groups: the task of each row: a patient, machine, shop, species.

        Returns:
            The estimator; until `adapt`, it predicts from what tasks have in common.
        """
        frame = features(self, X, reset=True, fewest_rows=2)
        targets = self._learn_targets(y)
        check_consistent_length(frame, targets)
        generator = check_random_state(self.random_state)
        if isinstance(self.random_state, Integral):
            seed = int(self.random_state)  # As `--seed` of the command line.
        else:
            seed = int(generator.randint(np.iinfo(np.int32).max))
        alone = groups is None
        tasks = pseudo_tasks(len(frame), generator) if alone else task_names(groups, len(frame))
        target = free_name(y, "target", frame.columns)
        task = free_name(groups, "task", [*frame.columns, target])
        with value_errors():
            options = {"task": task, "target": target, "kind": self.kind, **self._split_options(seed)}
            table = frame.assign(**{target: targets, task: tasks})
            prepared = self._prepare(table, options, alone)
            model = self._train(prepared, options, seed)
        self.notes_ = prepared.notes
        self.model_ = with_shared_code(model)
        known = len(frame) if alone else 0
        return self._adapt(frame.head(known), targets[:known])

    def adapt(self: Estimator, X: Any, y: Any, steps: int | None = None) -> Estimator:
        """Adapt to one new task, always from what was meta-trained, never from the task before.

        Arguments:
            X: the rows that are known of the task; none at all leads back to the prior prediction.
            y: their targets.
            steps: inner updates; None is the trained number. More fit more closely.

        Returns:
            An estimator of this task; this one, and those of other tasks, stay as they are.
        """
        check_is_fitted(self, "model_")
        if steps is not None:
            require_whole(steps=steps)
        frame, targets = features(self, X, reset=False, fewest_rows=0), self._targets(y)
        check_consistent_length(frame, targets)
        self._warn(frame.assign(**{self.model_.encoding.target: targets}), with_targets=True)
        adapted = object.__new__(type(self))
        adapted.__dict__.update(self.__dict__)  # shares the network, which is large
        return adapted._adapt(frame, targets, steps)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Keep what was meta-trained in a new run folder, for `load` and the `bmaml` command."""
        check_is_fitted(self, "model_")
        self.model_.trained.save(folder)

    @classmethod
    def load(cls: type[Estimator], folder: str | os.PathLike[str]) -> Estimator:
        """Open a run folder, made by `out=`, `save` or `bmaml train`; its prediction is the prior's."""
        model = TableModel.load(folder)
        if model.kind != cls.kind:
            other = "FewShotClassifier" if model.kind == "labels" else "FewShotRegressor"
            raise BmamlError(
                f"{folder} was trained to predict {model.kind}: open it with {other}.load."
            )
        recipe, settings = model.recipe, RunFolder.read(folder).settings
        options: dict[str, Any] = {
            "method": recipe.method,
            **{
                name: recipe.method_options[name]
                for name in METHOD_OPTIONS
                if name in recipe.method_options
            },
            "shots": recipe.task_options["shots"],
            "steps": settings["steps"],
            "hidden": tuple(recipe.model_options["hidden"]),
            "batch_size": settings["batch_size"],
            "validation_share": recipe.task_options.get("validation_share"),
            "random_state": model.trained.seed,
        }
        estimator = cls(**options)
        estimator._adopt(model)
        return estimator

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {**state, "model_": pack(state["model_"])} if "model_" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "model_" in state:
            state = state | {"model_": unpack(state["model_"])}
        super().__setstate__(state)

    def _adopt(self, model: TableModel) -> None:
        """Be the estimator of a model that was trained elsewhere."""
        names = [column.name for column in model.encoding.features]
        self.feature_names_in_, self.n_features_in_ = np.array(names, object), len(names)
        self.model_, self.notes_ = with_shared_code(model), ()
        width, outputs = model.trained.example.x.shape[1:], model.trained.example.y
        empty = np.zeros((0, *width), np.float32), np.zeros((0, *outputs.shape[1:]), outputs.dtype)
        self.adapted_ = adapt_to(self.model_.trained, *empty)

    @abstractmethod
    def _learn_targets(self, y: Any) -> np.ndarray:
        """Check the targets of a training, and remember what is needed of them."""

    @abstractmethod
    def _targets(self, y: Any) -> np.ndarray:
        """Check the targets of a task."""

    def _complete(self, encoding: Encoding) -> Encoding:
        """The encoding, with what rows outside training tasks tell of targets."""
        return encoding

    def _prepare(self, table: pandas.DataFrame, options: dict[str, Any], alone: bool) -> Prepared:
        """Encoded tasks to train and to validate on."""
        if alone:  # One task is all training task, however it is dealt.
            columns = {name: options[name] for name in ("task", "target", "kind")}
            encoding, notes = Encoding.learn_with_notes(table, **columns)
            prepared = prepare(table, **options, encoding=self._complete(encoding))
            return replace(prepared, notes=(*notes, *prepared.notes))
        prepared = prepare(table, **options)
        encoding = self._complete(prepared.encoding)
        if encoding == prepared.encoding:
            return prepared
        return prepare(table, **options, encoding=encoding)

    def _train(self, prepared: Prepared, source: dict[str, Any], seed: int) -> TableModel:
        if self.verbose:
            for note in prepared.notes:
                print(f"Note: {note}")
        return TableModel.fit(
            prepared,
            method=self.method,
            method_options=self._method_options(),
            hidden=self.hidden,
            shots=self.shots,
            steps=self.steps,
            seed=seed,
            batch_size=self.batch_size,
            source=source,
            out=self.out,
            progress=bool(self.verbose),
        )

    def _adapt(
        self: Estimator, frame: pandas.DataFrame, targets: np.ndarray, steps: int | None = None
    ) -> Estimator:
        encoding = self.model_.encoding
        table = frame.assign(**{encoding.target: targets})
        with value_errors():
            x, y = encoding.inputs(table), encoding.targets_of(table)
        self.adapted_ = adapt_to(self.model_.trained, x, y, steps)
        return self

    def _features(self, X: Any) -> pandas.DataFrame:
        """X as a frame."""
        frame = features(self, X, reset=False)
        self._warn(frame)
        return frame

    def _warn(self, frame: pandas.DataFrame, *, with_targets: bool = False) -> None:
        """A warning for each column that is unlike what training tasks covered."""
        with value_errors():
            for sentence in self.model_.encoding.outside(frame, with_targets=with_targets):
                warnings.warn(sentence, OutsideTrainingWarning, stacklevel=5)

    def _predict(self, X: Any, of_prediction: Any) -> Any:
        """What `of_prediction` keeps for each row of X, after adapting to the task at hand."""
        check_is_fitted(self, "model_")
        frame = self._features(X)
        with value_errors():
            x = self.model_.encoding.inputs(frame)
        kept = predict_at(self.model_.trained, self.adapted_, x, of_prediction)
        # What is scaled later, and added to, should not lose digits by it.
        return jax.tree.map(lambda leaf: leaf.astype(np.float64), kept)

    def _predict_held_out(
        self, X: Any, y: Any, groups: Any
    ) -> tuple[NumberPredictions | ClassPredictions, np.ndarray]:
        """Predictions for some rows of each task, from a few others of it; and which rows these are."""
        check_is_fitted(self, "model_")
        frame, targets = self._features(X), self._targets(y)
        check_consistent_length(frame, targets)
        tasks = task_names(groups, len(frame))
        encoding = self.model_.encoding
        table = frame.assign(**{encoding.target: targets, str(encoding.task): tasks})
        known = few_of_each(tasks, self.model_.recipe.task_options["shots"])
        with value_errors():
            return self.model_.predict(table.loc[~known], table.loc[known], warn=False), ~known
