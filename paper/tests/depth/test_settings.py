"""The optimiser and its schedule."""

import pytest

torch = pytest.importorskip("torch")

from betanll_paper.depth.settings import TrainingSettings  # noqa: E402


def course(n_updates, groups=1):
    """Return rates and momenta of all updates, for each group of parameters."""
    settings = TrainingSettings()
    network = torch.nn.Linear(2, 2)
    optimizer = settings.optimizer(network)
    if groups == 2:
        weight, bias = network.parameters()
        optimizer = torch.optim.AdamW(
            [{"params": [weight], "lr": 1e-5}, {"params": [bias]}]
        )
    schedule = settings.schedule(optimizer, n_updates)
    rates, momenta = [], []
    for update in range(n_updates):
        rates.append([group["lr"] for group in optimizer.param_groups])
        momenta.append(optimizer.param_groups[0]["betas"][0])
        optimizer.step()
        if update < n_updates - 1:
            schedule.step()
    return rates, momenta


def test_the_rate_rises_for_thirty_percent_and_falls_to_a_2500th():
    # The peak is update 0.3 * 1000, the first being number 1.
    rates, momenta = course(1000)
    assert rates[0][0] == pytest.approx(1.428e-5, rel=1e-12)
    assert max(rates)[0] == pytest.approx(3.57e-4, rel=1e-12)
    assert rates.index(max(rates)) == 299
    assert rates[-1][0] == pytest.approx(1.428e-7, rel=1e-9)
    assert momenta[0] == momenta[-1] == pytest.approx(0.95)
    assert momenta[299] == min(momenta) == pytest.approx(0.85)


def test_all_groups_of_parameters_have_one_rate():
    rates, _ = course(10, groups=2)
    assert all(first == second for first, second in rates)


def test_weight_decay_is_decoupled():
    settings = TrainingSettings(weight_decay=0.1)
    network = torch.nn.Linear(1, 1, bias=False)
    optimizer = settings.optimizer(network)
    before = network.weight.item()
    network.weight.grad = torch.zeros(1, 1)
    optimizer.step()
    assert network.weight.item() == pytest.approx(before * (1 - 3.57e-4 * 0.1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"validate_every": 0}, "validate_every must be at least 1"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"max_gradient_norm": float("nan")}, "max_gradient_norm must be positive"),
        ({"precision": "float8"}, "precision must be one of float32"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        TrainingSettings(**settings)
