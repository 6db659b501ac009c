"""The scikit-learn estimator."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from betanll.blocks import row_blocks
from betanll.columns import Column
from betanll.estimators._calibration import (
    conformal_scores,
    residuals_of,
    spread_factor,
    student_t_fit,
)
from betanll.estimators._data import MIN_ROWS, checked_data
from betanll.estimators._notebook import NotebookPicture, held_out_coverage
from betanll.estimators._parameters import candidates, check_parameters, n_threads
from betanll.estimators._plan import plan_of
from betanll.estimators._predictions import Predictions
from betanll.estimators._target_transform import (
    chosen_transforms,
    planned_with,
    to_images,
)
from betanll.model_selection import (
    FitPlan,
    FittedModel,
    as_numpy,
    crossfit,
    run,
    search_and_refit,
)
from betanll.networks import Network
from betanll.objectives import Objective, Schedule, warn_of_unusual_beta
from betanll.training import FitResult, FitTask, Optimizer


class HeteroscedasticRegressor(
    Predictions, NotebookPicture, MultiOutputMixin, RegressorMixin, BaseEstimator
):
    """Neural network that predicts a mean and a spread for every row.

    Every number that goes in or comes out is in the user's units; what happens inside
    is up to the preset. Parameters with the default ``"auto"`` have its value, and any
    of them can be given.

    Parameters
    ----------
    preset : {"fast", "default", "best", "paper"}, default="default"
        ``"default"`` is an ensemble of ten networks for tables of any kind. Each leaves
        out another fifth of the rows, which ends its training; on those rows the spread
        of the ensemble is calibrated. ``"fast"`` is one such network, ``"best"`` twenty
        of which five choose the learning rate. ``"paper"`` is the protocol of Seitzer
        et al. 2022: one small network, whose learning rate is chosen on a fifth of the
        rows and which is then trained again on all of them.
    objective : str or Objective, default="beta-nll"
        What to train: ``"beta-nll"``, ``"nll"``, ``"mse"``, ``"student-t"``, ... or an
        object such as ``BetaNLL(0.5, max_variance=100.0)``. Objectives without a
        variance of their own (``"mse"``) have the same noise everywhere, the root mean
        square of residuals of rows that training has not seen.
    beta : float, (start, end) or "auto", default=0.5
        Exponent of ``"beta-nll"``; other objectives ignore it. 0 is the plain
        likelihood, 1 fits the mean as the squared error does. ``"auto"`` chooses among
        0, 0.25, 0.5, 0.75 and 1 by validation log-likelihood. Above 1, ``fit`` warns.
    hidden_layer_sizes : int, sequence of int or "auto", default="auto"
        Units of each hidden layer; empty for a linear model.
    activation : {"relu", "tanh", "elu", "gelu", "silu", "auto"}, default="auto"
        Nonlinearity of the hidden layers.
    n_bins : int, sequence of int or "auto", default="auto"
        Above 0, each input becomes its position among so many quantiles of its column,
        and the network also sees how far it is into every one of them. Steps and kinks
        are then easy to learn, and outliers harmless; beyond the training data an input
        counts as the nearest one there. With 0 inputs are standardised, and predictions
        go on growing outside. Of several numbers the one that validates best is kept:
        ensembles for fewer than 4000 rows try both kinds by ``"auto"``.
    learning_rate_init : float, sequence of float, "search" or "auto", default="auto"
        Learning rate, or several to try. ``"search"`` tries those of the paper: 1e-4,
        3e-4, 7e-4, 1e-3, 3e-3 and 7e-3.
    learning_rate : {"constant", "cosine", "auto"}, default="auto"
        Whether it stays or falls to nearly zero within the budget.
    weight_decay : float or "auto", default="auto"
        Decay of the weights, decoupled from the gradient as in AdamW.
    batch_size : int or "auto", default="auto"
        Rows in an update, or all if there are fewer.
    max_updates : int or "auto", default="auto"
        Budget of one training, in updates.
    n_iter_no_change : int or "auto", default="auto"
        Patience: stop after this many validations in a row without improvement.
        Validation runs after every epoch; all presets but ``"paper"`` run it at most
        400 times. ``"auto"`` is a tenth of the planned validations, and at least 3.
    validation_fraction : float, default=0.2
        Share of the rows for validation.
    n_members : int or "auto", default="auto"
        Networks of the deep ensemble, which differ in initialisation, shuffling and,
        without a refit, rows.
    refit : bool or "auto", default="auto"
        Train members again on all rows, for the number of epochs that was best on one
        validation part. Without it each has its own validation part.
    calibration : {None, "scale", "student-t", "conformal", "auto"}, default="auto"
        ``"scale"`` stretches all predicted spreads by one factor for each target, so
        that standardised residuals have mean square one; it works for any predictive
        distribution. ``"student-t"``, for objectives that predict normals, also chooses
        tails: the degrees of freedom of a Student t. ``"auto"`` never replaces another
        distribution by a Student t. ``"conformal"`` makes intervals
        hold their coverage with a guarantee for finite samples; means, spreads and
        densities stay as they are. The first two use the validation parts if there is
        no refit; else, and for the third, a share of the rows as large as
        `validation_fraction` is set aside first.
    target_transform : None, str, Transform or a list of these, default=None
        Learn ``"log"``, ``"log1p"`` or ``"logit:0:100"`` of the targets. Predictions
        are distributions of the targets themselves, in their units, and never leave the
        values that the transform takes: prices stay positive. ``"auto"`` takes the
        logarithm of positive, skewed targets if a pilot network predicts better that
        way; ``preset="paper"`` never does. A list has one entry for each target.
        ``calibration="auto"`` is then ``"scale"``, as the exponential of a Student t
        has no mean.
    columns : mapping or None, default=None
        For data frames: how to read some columns, by name: ``"number"``, ``"boolean"``,
        ``"category"``, ``"date"``, ``"date:%d/%m/%Y"`` or ``"ignored"``. The others are
        read as their cells suggest.
    network : callable or None, default=None
        A custom network instead of the perceptron: a class or function that takes the
        number of inputs and returns a :class:`~betanll.networks.Network`. Inputs are
        standardised, unless the network has an attribute ``n_bins`` above 0.
    optimizer : Optimizer or None, default=None
        A custom optimiser instead of Adam, see :func:`betanll.training.optimizer`. A
        hyperparameter ``n_updates`` of its factory is set to the length of the run.
    random_state : int, RandomState or None, default=None
        Splits, initialisation and shuffling. An integer gives the same bits each time.
    n_jobs : int or None, default=None
        Trainings at a time; None and -1 mean one for each core.
    verbose : int, default=0
        Above 0, show progress: a bar in a terminal, else a line every ten seconds.

    Attributes
    ----------
    n_features_in_ : int
        Number of input columns; ``feature_names_in_`` holds their names, if any.
    encoder_ : ColumnEncoder or None
        How columns of a data frame become numbers; None for arrays without NaN.
    input_range_ : array of shape (2, n_encoded) or None
        Least and greatest training value of each column of ``encode(X)``; None for
        models that were saved before 0.2.
    n_outputs_ : int
        Number of targets.
    best_learning_rate_ : float or None
        Learning rate of the final training, None if a custom optimiser has none.
    beta_ : float, (start, end) or None
        Exponent of the final training, None for objectives without one.
    n_iter_, n_updates_ : int
        Epochs and updates of the final training.
    history_ : dict of str to array
        ``epoch``, ``train_loss``, ``validation_nll``, ``validation_mse`` and
        ``validation_score``, whose least value is the epoch that was kept, of the
        chosen training on the part without validation rows, in whitened units.
    loss_curve_ : list of float
        Training loss of the first member in the final training, whitened.
    search_results_ : dict of str to list
        Learning rate, beta, bins, score, epochs, updates and status of every training:
        of each candidate and, without a refit, member.
    best_validation_score_ : float
        Best validation score in whitened units, greater is better: log-likelihood of a
        row, with the tails of a Student t but for ``preset="paper"``, or minus the
        squared error for ``"mse"``.
    target_transform_ : tuple of Transform
        What was learnt instead of each target; ``Identity()`` is the target itself.
    spread_ : array, one number for each target
        Factor on the predicted standard deviations, 1 without calibration.
    df_ : array, one number for each target, or None
        Degrees of freedom of the predicted Student t, if calibrated to one.
    held_out_coverage_ : array of shape (9, n_outputs) or None
        Share of rows that training has not seen inside 10 %, 20 %, ..., 90 % intervals,
        for normal predictions without a refit. Notebooks show it as a picture.

    See Also
    --------
    betanll.objectives : What can be trained.
    betanll.metrics : Scorers for model selection.

    Notes
    -----
    A 2-D `y` may have missing entries (NaN): they do not enter the loss. Rows with
    weight zero and rows without any target are left out.

    References
    ----------
    Seitzer et al., "On the pitfalls of heteroscedastic uncertainty estimation with
    probabilistic neural networks", ICLR 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from betanll import HeteroscedasticRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (500, 1))
    >>> y = 100 * X[:, 0] + rng.normal(0, np.where(X[:, 0] < 0, 1.0, 10.0))
    >>> model = HeteroscedasticRegressor(random_state=0, max_updates=2000).fit(X, y)
    >>> mean, std = model.predict([[-0.5], [0.5]], return_std=True)
    >>> bool(abs(mean[0] + 50) < 3), bool(std[1] > 4 * std[0])
    (True, True)
    >>> model.predict_interval([[-0.5], [0.5]], coverage=0.9).shape
    (2, 2)
    """

    # Set by ``fit``. Annotated only: scikit-learn takes attributes for a fit.
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]
    best_learning_rate_: float | None
    best_validation_score_: float
    beta_: Schedule | None
    n_iter_: int
    n_updates_: int
    history_: dict[str, npt.NDArray[Any]]
    loss_curve_: list[float]
    search_results_: dict[str, list[Any]]

    def __init__(
        self,
        *,
        preset: str = "default",
        objective: str | Objective = "beta-nll",
        beta: Schedule | str = 0.5,
        hidden_layer_sizes: int | Sequence[int] | str = "auto",
        activation: str = "auto",
        n_bins: int | Sequence[int] | str = "auto",
        learning_rate_init: float | Sequence[float] | str = "auto",
        learning_rate: str = "auto",
        weight_decay: float | str = "auto",
        batch_size: int | str = "auto",
        max_updates: int | str = "auto",
        n_iter_no_change: int | str = "auto",
        validation_fraction: float = 0.2,
        n_members: int | str = "auto",
        refit: bool | str = "auto",
        calibration: str | None = "auto",
        target_transform: Any = None,
        columns: Mapping[str, str | Column] | None = None,
        network: Callable[[int], Network] | None = None,
        optimizer: Optimizer | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.preset = preset
        self.objective = objective
        self.beta = beta
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.n_bins = n_bins
        self.learning_rate_init = learning_rate_init
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_updates = max_updates
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.n_members = n_members
        self.refit = refit
        self.calibration = calibration
        self.target_transform = target_transform
        self.columns = columns
        self.network = network
        self.optimizer = optimizer
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        times: Any = None,
    ) -> Self:
        """Train on rows of inputs and targets.

        Parameters
        ----------
        X : array of shape (n, n_features) or data frame
            Numbers, NaN where missing; or a table of pandas, polars or pyarrow with
            columns of numbers, texts, categories, booleans and dates.
        y : array of shape (n,) or (n, n_outputs)
            Targets. In the second form NaN marks a missing entry.
        sample_weight : array of shape (n,), optional
            Non-negative weights of the rows in loss, validation and whitening.
        groups : array of shape (n,), optional
            Labels such as patients: validation and calibration keep rows of one label
            on one side, as for new groups.
        times : array of shape (n,), optional
            Times of the rows: each validation part is a span of time. Conformal
            calibration uses the latest rows.

        Returns
        -------
        self
        """
        warn_of_unusual_beta(candidates(self), stacklevel=2)
        run(
            [self.fit_steps(X, y, sample_weight, groups=groups, times=times)],
            n_jobs=n_threads(self.n_jobs),
            progress=bool(self.verbose),
        )
        return self

    def plan_for(self, n_rows: int, n_inputs: int) -> FitPlan:
        """Return what is trained on a table of this size, with "auto" resolved.

        ``fit`` draws other seeds, but as many.

        Examples
        --------
        >>> plan = HeteroscedasticRegressor().plan_for(1000, 8)
        >>> len(plan.seeds), plan.batch_size
        (10, 64)
        >>> [network.n_bins for network in plan.networks]
        [32, 0]
        """
        check_parameters(self)
        return plan_of(self, n_rows=n_rows, n_inputs=n_inputs)

    def fit_steps(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        times: Any = None,
    ) -> Generator[list[FitTask], list[FitResult], Self]:
        """Fit as a generator, for :func:`fit_many`, which trains estimators together.

        A fit that fails or is interrupted leaves the estimator as it was.
        """
        check_parameters(self)
        model = copy.copy(self)
        random = check_random_state(self.random_state)
        blocks = row_blocks(groups, times)
        data = checked_data(model, X, y, sample_weight, random, blocks)
        plan = plan_of(self, n_rows=len(data), n_inputs=data.inputs.shape[1])
        model.target_transform_ = yield from chosen_transforms(self, plan, data)
        plan = planned_with(plan, self, model.target_transform_)
        data = replace(data, targets=to_images(data.targets, model.target_transform_))
        held_out = data
        if plan.holds_out_rows:
            data, held_out = data.parted(self.validation_fraction, random)
            if len(data) < MIN_ROWS:
                n = len(data) + len(held_out)
                raise ValueError(f"calibration needs more rows than n_samples = {n}")
        order, starts = data.order(random)
        # Drawn last: more members leave the splits and the first one as they are.
        seeds = random.randint(2**31 - 1, size=len(plan.seeds)).tolist()
        plan = replace(plan, seeds=seeds)
        protocol = search_and_refit if plan.refit else crossfit
        fitted = yield from protocol(plan, data, order, starts)
        model._keep(fitted)
        if plan.calibration == "conformal":
            predictive = model._images(held_out.inputs)
            model.conformal_scores_ = conformal_scores(predictive, held_out.targets)
        elif plan.calibration is not None:
            residuals = fitted.held_out
            if residuals is None:
                predictive = model._whitened(held_out.inputs)
                white = fitted.targets
                targets = (held_out.targets - white.mean) / white.scale
                residuals = residuals_of(predictive, targets, held_out.weights)
            if plan.calibration == "scale":
                model.spread_ = spread_factor(residuals)
            else:
                model.spread_, model.df_ = student_t_fit(residuals)
        model.held_out_coverage_ = held_out_coverage(model, fitted.held_out)
        self.__dict__ = model.__dict__
        return self

    def conformalize(self, X_cal: Any, y_cal: Any) -> Self:
        """Calibrate intervals with rows that ``fit`` has not seen.

        From then on ``predict_interval`` and ``predict_quantiles`` keep their coverage
        for rows like these, whatever the model. Each target is treated by itself.

        Returns
        -------
        self
        """
        predictive = self._images(self._checked_inputs(X_cal))
        target = self._checked_targets(y_cal, len(predictive))
        images = to_images(target, self.target_transform_)
        self.conformal_scores_ = conformal_scores(predictive, images)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model into a folder, without pickle.

        The folder appears whole or not at all; an older model there is replaced. A
        custom network needs a name, see :func:`betanll.networks.network`. Of the
        parameters, `network` and `optimizer` are not saved: the loaded model has None.
        """
        from betanll.estimators import _model_folder, _state

        check_is_fitted(self)
        _model_folder.write_model(path, *_state.to_state(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; nothing in it is executed."""
        from betanll.estimators import _model_folder, _state

        return _state.from_state(cls, *_model_folder.read_model(path))

    def to_torch(self) -> Any:
        """Return a ``torch.nn.Module`` that maps inputs to mean and std as ``predict``.

        Needs PyTorch. Conformal intervals are not part of it.
        """
        from betanll.estimators._export import torch_module

        check_is_fitted(self)
        return torch_module(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        return tags

    def _keep(self, fitted: FittedModel) -> None:
        """Store what training found, with NumPy arrays as parameters."""
        first = fitted.members[0]
        self.net_ = fitted.net
        self.objective_ = fitted.objective
        self.members_ = [as_numpy(member.params) for member in fitted.members]
        self.inputs_, self.targets_ = fitted.inputs, fitted.targets
        self.n_outputs_ = len(fitted.targets.mean)
        self.best_learning_rate_ = fitted.learning_rate
        self.beta_ = getattr(fitted.objective, "beta", None)
        self.n_iter_, self.n_updates_ = first.n_epochs, first.n_updates
        self.history_ = fitted.history
        self.loss_curve_ = first.history["train_loss"].tolist()
        self.search_results_ = fitted.search
        self.best_validation_score_ = fitted.best_score
        # Objectives of the mean alone have a variance of one in whitened units.
        has_spread = fitted.objective.n_parameters > 1
        self.spread_ = np.ones(self.n_outputs_) if has_spread else fitted.residual_scale
        self.df_ = None
        self.conformal_scores_ = None
