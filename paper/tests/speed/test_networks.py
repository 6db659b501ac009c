import pytest

from betanll.objectives import BetaNLL
from betanll_paper.speed import NETWORKS
from betanll_paper.speed import contenders as _contenders
from betanll_paper.speed.networks import BenchNetwork, BenchVAE


def test_flops_are_those_of_the_products():
    # 8-50-2, batch 256: forward 2 * 256 * (400 + 100), gradients of the weights the
    # same, gradient of the hidden layer 2 * 256 * 100
    assert NETWORKS["uci"].flops == 2 * 256 * (500 + 500 + 100)


def test_data_has_the_stated_shape():
    network = NETWORKS["fpp"]
    x, y = network.data()
    assert x.shape == (60_000, 29)
    assert y.shape == (60_000, 3)


def test_flops_of_an_autoencoder():
    # 4-3-(2 x 2), 2-3-(2 x 4) with batch 10: products of 12, 12, 6 and 24 numbers, each
    # forward, backward to the weights and, but for the first, backward to the input.
    network = BenchVAE("tiny", 4, 2, (3,), 10, 20)
    assert network.flops == 2 * 10 * (12 + 12 + 6 + 24 + 54 + 12 + 6 + 24)


@pytest.mark.parametrize("name", ["uci", "vae"])
def test_contenders_do_at_least_the_work_asked_for(name):
    small = {
        "uci": BenchNetwork("tiny", 3, (4,), "relu", 1, 8, 20),
        "vae": BenchVAE("tiny", 6, 2, (4,), 8, 20),
    }[name]
    train = _contenders.ours(small, BetaNLL(0.5), 1)
    assert train(3) == 4  # whole epochs of two updates


@pytest.mark.torch
def test_plain_pytorch_loop_learns():
    import torch

    network = BenchVAE("tiny", 6, 2, (4,), 16, 64)
    modules, loss_of = _contenders._vae(network)
    optimizer = torch.optim.Adam(modules.parameters(), lr=1e-2)
    rows = torch.arange(64)
    losses = []
    for _ in range(60):
        losses.append(loss_of(rows))
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < losses[0]
    assert _contenders.torch_eager(network, 1)(3) == 3
