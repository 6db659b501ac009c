"""The callback of docs/how-to/monitor.md under Lightning itself."""

import warnings

import pytest

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    # Importing Lightning may warn of its own dependencies.
    warnings.simplefilter("ignore")
    lightning = pytest.importorskip("lightning.pytorch")

from lightning.pytorch.loggers.logger import DummyLogger  # noqa: E402

from betanll.torch import BetaNLLLoss, GaussianHead, PitfallMonitor  # noqa: E402

pytestmark = [
    pytest.mark.torch,
    # Loading four batches needs no worker processes.
    pytest.mark.filterwarnings("ignore:.*does not have many workers.*"),
    # Logging every ten steps is what is tested.
    pytest.mark.filterwarnings("ignore:The number of training batches"),
    # Lightning 2.6 asks PyTorch 2.13 in the old way what a leaf is.
    pytest.mark.filterwarnings("ignore:`isinstance.treespec, LeafSpec:FutureWarning"),
]

N_BATCHES = 4


class Recorder(DummyLogger):
    """Keeps what Lightning hands to a logger."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def log_metrics(self, metrics, step=None):
        self.lines.append((step, metrics))


class Network(lightning.LightningModule):
    """A mean and a variance; `returns` says what a training step hands back."""

    def __init__(self, returns=("loss", "mean", "variance")):
        super().__init__()
        self.head = GaussianHead(1, 1)
        self.criterion = BetaNLLLoss(beta=0.0)
        self.returns = returns
        self.seen = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        mean, variance = self.head(x)
        loss = self.criterion(mean, y, variance)
        self.seen.append((mean.detach(), variance.detach(), y))
        parts = {"loss": loss, "mean": mean, "variance": variance}
        if self.returns == ("loss",):
            return loss
        return {name: parts[name] for name in self.returns} or None

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)

    def train_dataloader(self):
        x = torch.linspace(-1, 1, 5 * N_BATCHES)[:, None]
        data = torch.utils.data.TensorDataset(x, 2 * x)
        return torch.utils.data.DataLoader(data, batch_size=5)


@pytest.fixture
def page_callback(run_page):
    """The class of the page, run from its own text."""
    page = "docs/how-to/monitor.md"
    return run_page(page, numbers=(2,), PitfallMonitor=PitfallMonitor)[
        "PitfallCallback"
    ]


def train(callback, network, folder, *, max_steps=25, ckpt_path=None):
    logger = Recorder()
    trainer = lightning.Trainer(
        max_steps=max_steps,
        log_every_n_steps=10,
        logger=logger,
        callbacks=[callback],
        accelerator="cpu",
        default_root_dir=folder,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(network, ckpt_path=ckpt_path)
    lines = [
        (step, {k: v for k, v in metrics.items() if k.startswith("pitfall/")})
        for step, metrics in logger.lines
    ]
    return trainer, [(step, numbers) for step, numbers in lines if numbers]


def test_numbers_reach_the_logger_though_epochs_are_short(page_callback, tmp_path):
    callback, network = page_callback(beta=0.0, every=1, warn=False), Network()
    _, lines = train(callback, network, tmp_path)
    # An epoch has four batches and is never ten steps long.
    assert [numbers["pitfall/n_updates"] for _, numbers in lines] == [10, 20]
    assert [step for step, _ in lines] == [9, 19]
    direct = PitfallMonitor(beta=0.0, every=1, warn=False)
    for batch in network.seen[:20]:
        direct.update(*batch)
    expected = {f"pitfall/{name}": value for name, value in direct.summary().items()}
    assert lines[-1][1] == pytest.approx(expected, rel=1e-6)
    assert callback.monitor.n_updates == 25


def test_a_checkpoint_keeps_the_monitor(page_callback, tmp_path):
    callback = page_callback(beta=0.0, every=1, warn=False)
    trainer, _ = train(callback, Network(), tmp_path, max_steps=8)
    trainer.save_checkpoint(tmp_path / "run.ckpt")
    other = page_callback(beta=0.0, every=1, warn=False)
    train(other, Network(), tmp_path, max_steps=12, ckpt_path=tmp_path / "run.ckpt")
    assert other.monitor.n_updates == 12
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.ckpt"]


@pytest.mark.parametrize("returns", [("loss",), ("loss", "mean")])
def test_a_step_without_predictions_is_refused_in_a_sentence(
    page_callback, tmp_path, returns
):
    with pytest.raises(
        ValueError,
        match="training_step must return loss, mean and variance for PitfallCallback, "
        f"got {', '.join(returns)}",
    ):
        train(page_callback(), Network(returns), tmp_path)


def test_skipped_steps_do_not_count(page_callback, tmp_path):
    callback, network = page_callback(warn=False), Network(returns=())
    trainer = lightning.Trainer(
        max_epochs=1,
        logger=False,
        callbacks=[callback],
        accelerator="cpu",
        default_root_dir=tmp_path,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    with pytest.warns(UserWarning, match="`training_step` returned `None`"):
        trainer.fit(network)
    assert len(network.seen) == N_BATCHES
    assert callback.monitor.n_updates == 0
