"""Variational treatment of the precision with a mixture-of-Gammas prior."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from betanll import losses
from betanll.losses.arrays import Array, softplus, stop_gradient
from betanll.objectives._base import Parameters
from betanll.objectives._registry import objective
from betanll.objectives._student_t import GammaPrecision
from betanll.objectives.heads import gamma_heads

N_SAMPLES = 20
_VBEM_GRID = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
_N_COMPONENTS = 100


class _Variational(GammaPrecision):
    """Evidence lower bound; the fourth head gives the logits of the prior's mixture."""

    is_stochastic = True
    n_predictive = 3
    n_components: int

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        return 3 + self.n_components

    def head_sizes(self, n_targets: int) -> tuple[int, ...]:
        return 3 * n_targets, self.n_components * n_targets

    def parameters(self, raw: Array) -> Parameters:
        return *super().parameters(raw[:3]), raw[3:]

    def negative_elbo(
        self,
        parameters: Parameters,
        target: Array,
        prior_shape: Array,
        prior_rate: Array,
        *,
        key: Array,
    ) -> Array:
        """Return the elementwise bound; prior arrays are ``(D, n_components)``."""
        # Imported here and below because JAX takes half a second to import.
        from betanll.objectives._expected_prior import expected_log_prior

        mean, shape, rate, logits = parameters
        log_prior = expected_log_prior(
            *(shape, rate, logits, prior_shape, prior_rate),
            n_samples=N_SAMPLES,
            key=key,
        )
        kl = -losses.gamma_entropy(shape, rate) - log_prior
        return kl - losses.expected_gaussian_log_prob(mean, shape, rate, target)


@objective("xvamp", **{"xvamp-star": {"trainable": True}})
class XVAMP(_Variational):
    """Variational precision whose prior is the posterior at 100 pseudo-inputs.

    Parameters
    ----------
    trainable : bool, default=False
        Whether to train the pseudo-inputs (xVAMP*), which start as training inputs.
    """

    trainable: bool = False
    n_components = _N_COMPONENTS

    def init_state(self, inputs: Array, n_targets: int, *, key: Array) -> Any:
        return inputs[:, : self.n_components]

    def training_loss(
        self,
        forward: Callable[[Array], Array],
        inputs: Array,
        target: Array,
        state: Any,
        *,
        progress: Array,
        key: Array,
    ) -> Array:
        import jax.numpy as jnp

        pseudo_inputs = state if self.trainable else stop_gradient(state)
        raw = forward(jnp.concatenate([inputs, pseudo_inputs], axis=1))
        n = inputs.shape[1]
        # (n_targets, n_components) at the pseudo-inputs
        shape, rate = gamma_heads(raw[1, :, n:], raw[2, :, n:])
        parameters = self.parameters(raw[:, :, :n])
        return self.negative_elbo(parameters, target, shape, rate, key=key)


@objective("vbem", **{"vbem-star": {"trainable": True}})
class VBEM(_Variational):
    """Variational precision under a fixed or trainable mixture prior.

    Parameters
    ----------
    trainable : bool, default=False
        False: 144 components on a fixed grid. True (VBEM*): 100 trained components for
        each target.

    Notes
    -----
    The fixed grid limits the sharpness of predictions: the log-density saturates at
    1.3032 per standardised target.
    """

    trainable: bool = False

    @property
    def n_components(self) -> int:  # type: ignore[override]
        return _N_COMPONENTS if self.trainable else len(_VBEM_GRID) ** 2

    def init_state(self, inputs: Array, n_targets: int, *, key: Array) -> Any:
        if not self.trainable:
            return ()
        import jax

        size = (2, n_targets, self.n_components)
        return jax.random.uniform(key, size, inputs.dtype, -3.0, 3.0)

    def training_loss(
        self,
        forward: Callable[[Array], Array],
        inputs: Array,
        target: Array,
        state: Any,
        *,
        progress: Array,
        key: Array,
    ) -> Array:
        import jax.numpy as jnp

        if self.trainable:
            prior_shape, prior_rate = softplus(state)
        else:
            grid = jnp.asarray(_VBEM_GRID, inputs.dtype)
            size = (target.shape[0], self.n_components)
            prior_shape = jnp.broadcast_to(jnp.repeat(grid, grid.size)[None], size)
            prior_rate = jnp.broadcast_to(jnp.tile(grid, grid.size)[None], size)
        parameters = self.parameters(forward(inputs))
        return self.negative_elbo(parameters, target, prior_shape, prior_rate, key=key)
