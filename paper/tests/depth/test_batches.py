"""The order of the images, however the work is shared."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from torch._utils import ExceptionWrapper  # noqa: E402

from betanll_paper.depth.batches import BatchOrder, with_plain_errors  # noqa: E402


def test_an_epoch_takes_every_image_once():
    order = BatchOrder(n_images=12, batch_size=4, n_parts=2, seed=3)
    keys = [key for update in range(3) for part in order.parts(update) for key in part]
    assert sorted(keys) == [(0, index) for index in range(12)]


def test_leftover_images_are_skipped_in_their_epoch():
    order = BatchOrder(n_images=11, batch_size=4, n_parts=1, seed=3)
    assert order.updates_per_epoch == 2
    epochs = [{epoch for epoch, _ in order.parts(update)[0]} for update in range(4)]
    assert epochs == [{0}, {0}, {1}, {1}]


def test_order_depends_on_epoch_and_seed():
    order = BatchOrder(n_images=12, batch_size=12, n_parts=1, seed=3)
    other = BatchOrder(n_images=12, batch_size=12, n_parts=1, seed=4)
    indices = [
        tuple(index for _, index in some.parts(update)[0])
        for some, update in ((order, 0), (order, 1), (other, 0))
    ]
    assert len(set(indices)) == 3


@pytest.mark.parametrize("size", [1, 2, 4])
def test_processes_share_the_parts_of_one_order(size):
    order = BatchOrder(n_images=16, batch_size=8, n_parts=4, seed=0)
    shares = [list(order.parts_of(rank, size, 1, 3)) for rank in range(size)]
    n_own = 4 // size
    for update in (1, 2):
        first = (update - 1) * n_own
        together = [part for share in shares for part in share[first : first + n_own]]
        assert together == order.parts(update)


def test_number_of_parts_does_not_change_the_batch():
    whole = BatchOrder(n_images=16, batch_size=8, n_parts=1, seed=0).parts(5)[0]
    parts = BatchOrder(n_images=16, batch_size=8, n_parts=4, seed=0).parts(5)
    assert [key for part in parts for key in part] == whole


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 17, "n_parts": 1}, "between 1 and the 16 training images"),
        ({"batch_size": 8, "n_parts": 3}, "batch_size must be a multiple of 3"),
    ],
)
def test_impossible_batch_sizes_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        BatchOrder(n_images=16, seed=0, **settings)


class ScanError(ValueError):
    pass


@pytest.mark.parametrize("kind", [ValueError, ScanError])
def test_error_of_a_loading_process_keeps_its_message(kind):
    message = "scan 17: it is broken\nask the laboratory: there is a copy"

    def loaded():
        yield "first"
        try:
            raise kind(message)
        except ValueError:
            wrapped = ExceptionWrapper(where="in DataLoader worker process 0")
        wrapped.reraise()

    parts = with_plain_errors(loaded())
    assert next(parts) == "first"
    with pytest.raises(kind) as caught:
        next(parts)
    assert str(caught.value) == message
