from betanll.bench import NETWORKS


def test_flops_are_those_of_the_products():
    # 8-50-2, batch 256: forward 2 * 256 * (400 + 100), gradients of the weights the
    # same, gradient of the hidden layer 2 * 256 * 100
    assert NETWORKS["uci"].flops == 2 * 256 * (500 + 500 + 100)


def test_data_has_the_stated_shape():
    network = NETWORKS["fpp"]
    x, y = network.data()
    assert x.shape == (60_000, 29)
    assert y.shape == (60_000, 3)
