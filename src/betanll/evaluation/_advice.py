"""The choice of beta."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from betanll.evaluation._trial import BETAS, SUBJECT
from betanll.typing import Array


def recommended_beta(
    log_density: Mapping[str, Array],
    errors: Mapping[str, float],
    *,
    pitfall: bool,
    rmse: Mapping[str, float],
    log_likelihood: Mapping[str, float],
) -> float:
    """Return the beta to train with.

    Validation rows choose the beta of the highest log-likelihood, or an equally good
    beta with smaller errors. With the pitfall, beta 0 is never recommended. Without it,
    another beta is recommended only if its held-out scores are no worse than those of
    plain NLL, so that the advice agrees with verdict and scores.

    Parameters
    ----------
    log_density : mapping of str to array of shape (n,)
        Log-densities of the validation rows, by objective.
    errors : mapping of str to float
        Squared errors on the validation rows.
    pitfall : bool
        The verdict.
    rmse, log_likelihood : mapping of str to float
        Scores on the held-out rows.
    """
    names = [name for name in BETAS if not (pitfall and name == SUBJECT)]
    best = max(names, key=lambda name: float(np.mean(log_density[name])))

    def is_as_good(name: str) -> bool:
        loss = log_density[best] - log_density[name]
        return bool(np.mean(loss) <= np.std(loss) / np.sqrt(len(loss)))

    chosen = min(filter(is_as_good, names), key=errors.__getitem__)
    is_confirmed = pitfall or (
        rmse[chosen] <= rmse[SUBJECT]
        and log_likelihood[chosen] >= log_likelihood[SUBJECT]
    )
    return BETAS[chosen if is_confirmed else SUBJECT]
