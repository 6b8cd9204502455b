"""The method families: which scikit-learn estimators exist, and the values that their parameters may take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

Value = int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimator:
    """One scikit-learn class and its parameters."""

    module: str
    name: str
    choices: Mapping[str, tuple[Value, ...]]
    """Searched parameters; the values are ordered, so that neighbours behave alike."""
    fixed: str = ""
    """The other arguments, as source text; may name ``SEED``."""
    weighs_classes: bool = False
    """Whether ``class_weight="balanced"`` is understood."""
    calibrated: bool = False
    """Whether class probabilities need a calibration around the estimator."""
    up_to_rows: tuple[str, ...] = ()
    """Parameters that may not exceed the number of rows that are learnt from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One way to learn, with a classifier and a regressor."""

    title: str
    weight: float
    """How early it tends to come among an episode's drafts."""
    classifier: Estimator
    regressor: Estimator
    cost: tuple[str, ...] = field(default=())
    """Parameters whose smaller values run faster, roughly in proportion."""
    scaled: bool = False
    """Whether features need one common scale."""
    rows: int = 50_000
    """Training rows that a draft takes at most; one of `genome.ROWS`."""

    def estimator(self, *, classifies: bool) -> Estimator:
        """The classifier or the regressor."""
        return self.classifier if classifies else self.regressor


_FOREST: Mapping[str, tuple[Value, ...]] = {
    "n_estimators": (40, 80, 120, 250),
    "min_samples_leaf": (1, 2, 3, 5, 8),
    "max_features": (0.2, 0.35, 0.5, 0.75),
}
_HISTOGRAM: Mapping[str, tuple[Value, ...]] = {
    "max_iter": (40, 80, 120, 250),
    "learning_rate": (0.03, 0.06, 0.1, 0.2),
    "max_leaf_nodes": (5, 8, 15, 31),
    "min_samples_leaf": (5, 10, 20, 40),
    "l2_regularization": (0.0, 0.3, 1.0, 5.0),
}
_BOOSTING: Mapping[str, tuple[Value, ...]] = {
    "n_estimators": (40, 80, 150, 300),
    "learning_rate": (0.03, 0.06, 0.1),
    "max_depth": (2, 3, 4),
    "subsample": (0.5, 0.7, 0.9),
    "max_features": (0.3, 0.6, 1.0),
}
_NEIGHBORS: Mapping[str, tuple[Value, ...]] = {
    "n_neighbors": (5, 9, 15, 25, 41),
    "weights": ("uniform", "distance"),
    "p": (1, 2),
}
_KERNEL: Mapping[str, tuple[Value, ...]] = {
    "C": (0.1, 0.3, 1.0, 3.0, 10.0),
    "gamma": (0.003, 0.01, 0.03, 0.1),
}

FAMILIES: Mapping[str, Family] = {
    "linear": Family(
        title="regularised linear model",
        weight=3,
        scaled=True,
        classifier=Estimator(
            module="sklearn.linear_model",
            name="LogisticRegression",
            choices={"C": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)},
            fixed="max_iter=3000",
            weighs_classes=True,
        ),
        regressor=Estimator(
            module="sklearn.linear_model", name="Ridge", choices={"alpha": (0.1, 1.0, 3.0, 10.0, 30.0, 100.0)}
        ),
    ),
    "random_forest": Family(
        title="random forest",
        weight=4,
        cost=("n_estimators",),
        rows=8_000,
        classifier=Estimator(
            module="sklearn.ensemble",
            name="RandomForestClassifier",
            choices=_FOREST,
            fixed="random_state=SEED, n_jobs=1",
            weighs_classes=True,
        ),
        regressor=Estimator(
            module="sklearn.ensemble",
            name="RandomForestRegressor",
            choices=_FOREST,
            fixed="random_state=SEED, n_jobs=1",
        ),
    ),
    "extra_trees": Family(
        title="extremely randomised trees",
        weight=3,
        cost=("n_estimators",),
        rows=8_000,
        classifier=Estimator(
            module="sklearn.ensemble",
            name="ExtraTreesClassifier",
            choices=_FOREST,
            fixed="random_state=SEED, n_jobs=1",
            weighs_classes=True,
        ),
        regressor=Estimator(
            module="sklearn.ensemble",
            name="ExtraTreesRegressor",
            choices=_FOREST,
            fixed="random_state=SEED, n_jobs=1",
        ),
    ),
    "hist_boosting": Family(
        title="histogram gradient boosting",
        weight=4,
        cost=("max_iter", "max_leaf_nodes"),
        classifier=Estimator(
            module="sklearn.ensemble",
            name="HistGradientBoostingClassifier",
            choices=_HISTOGRAM,
            fixed="early_stopping=False, random_state=SEED",
            weighs_classes=True,
        ),
        regressor=Estimator(
            module="sklearn.ensemble",
            name="HistGradientBoostingRegressor",
            choices=_HISTOGRAM,
            fixed="early_stopping=False, random_state=SEED",
        ),
    ),
    "gradient_boosting": Family(
        title="gradient boosting",
        weight=3,
        cost=("n_estimators", "max_depth"),
        rows=8_000,
        classifier=Estimator(
            module="sklearn.ensemble",
            name="GradientBoostingClassifier",
            choices=_BOOSTING,
            fixed="random_state=SEED",
        ),
        regressor=Estimator(
            module="sklearn.ensemble", name="GradientBoostingRegressor", choices=_BOOSTING, fixed="random_state=SEED"
        ),
    ),
    "neighbors": Family(
        title="nearest neighbours",
        weight=0.4,
        scaled=True,
        rows=20_000,
        classifier=Estimator(
            module="sklearn.neighbors",
            name="KNeighborsClassifier",
            choices=_NEIGHBORS,
            up_to_rows=("n_neighbors",),
        ),
        regressor=Estimator(
            module="sklearn.neighbors",
            name="KNeighborsRegressor",
            choices=_NEIGHBORS,
            up_to_rows=("n_neighbors",),
        ),
    ),
    "svm": Family(
        title="support vector machine",
        weight=2,
        scaled=True,
        rows=3_000,
        classifier=Estimator(module="sklearn.svm", name="SVC", choices=_KERNEL, weighs_classes=True, calibrated=True),
        regressor=Estimator(module="sklearn.svm", name="SVR", choices=_KERNEL),
    ),
    "bayes": Family(
        title="Bayesian model",
        weight=0.2,
        scaled=True,
        classifier=Estimator(
            module="sklearn.naive_bayes", name="GaussianNB", choices={"var_smoothing": (1e-9, 1e-3, 0.03, 0.1, 0.3)}
        ),
        regressor=Estimator(
            module="sklearn.linear_model",
            name="BayesianRidge",
            choices={"alpha_1": (1e-6, 1e-3, 1.0), "lambda_1": (1e-6, 1e-3, 1.0)},
        ),
    ),
}
"""Every family by its name, in a fixed order."""
