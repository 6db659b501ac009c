"""Check that a refactoring changes no bits: record results of revisions and compare.

    python benchmarks/golden.py record before --revision main~3
    python benchmarks/golden.py record after
    python benchmarks/golden.py compare before after

`record` writes three kinds of results into a folder:

* ``fingerprints.json``: hashes of weights and predictions of small fits, one for each
  objective and preset, of an autoencoder and of a depth network;
* ``stored``: the tables and figures that the committed exports give, without training;
* ``smoke``: every table and figure of the paper with preset smoke.

Only CSV files are compared byte for byte, without their columns of seconds. Both
revisions must run on the same machine.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).parents[1]
PARTS = ("fingerprints", "stored", "smoke")
PRESETS = ("fast", "default", "paper")
#: Committed exports by folder of results: what they give, and with which preset.
STORED = {
    "uci": ("paper", ("table1", "tableS1", "tableS2")),
    "dynamics": ("laptop", ("table2", "tableS7", "fig6", "fig9", "figS4")),
    "vae": ("laptop", ("tableS3", "table3-vae", "figS5")),
    "pitfall": ("paper", ("fig7", "figS3")),
}
#: Artefacts of preset smoke that share a folder and a command.
SMOKE = {
    "uci": ("table1", "tableS1", "tableS2"),
    "sine": (
        *("fig1", "fig2", "fig3", "fig4", "fig5", "fig7", "fig8"),
        *("figS1", "figS2", "figS3"),
    ),
    "dynamics": ("table2", "tableS7", "fig6", "fig9"),
    "vae": ("tableS3", "table3-vae", "figS5"),
    "depth": ("tableS4", "table3-depth", "figS6"),
}
#: Only these have data that need not be simulated first, which figure S4 lacks.
SMOKE_OPTIONS = {"dynamics": ("--dataset", "object-slide")}
TIMES = ("seconds",)


@click.group()
def main() -> None:
    """Record results of revisions and compare them."""


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--revision", help="Git revision.  [default: the working tree]")
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), default=PARTS)
def record(folder: Path, revision: str | None, parts: tuple[str, ...]) -> None:
    """Write the results of a revision to FOLDER."""
    folder = folder.absolute()
    with tempfile.TemporaryDirectory() as scratch:
        tree = ROOT
        if revision is not None:
            tree = Path(scratch) / "tree"
            _git("worktree", "add", "--detach", str(tree), revision)
        try:
            for part in parts:
                click.echo(f"{part} of {revision or 'the working tree'}")
                _record_part(part, tree, folder)
        finally:
            if revision is not None:
                _git("worktree", "remove", "--force", str(tree))


@main.command()
@click.argument("before", type=click.Path(exists=True, path_type=Path))
@click.argument("after", type=click.Path(exists=True, path_type=Path))
def compare(before: Path, after: Path) -> None:
    """Name every result that differs; exit with 1 if there is one."""
    names = sorted(set(_results(before)) | set(_results(after)))
    different = [
        name for name in names if _content(before / name) != _content(after / name)
    ]
    for name in different:
        click.echo(f"differs: {name}")
        if name == "fingerprints.json":
            _show_fingerprints(before / name, after / name)
    click.echo(f"{len(names) - len(different)} of {len(names)} results are equal")
    sys.exit(bool(different))


@main.command(hidden=True)
@click.argument("path", type=click.Path(path_type=Path))
def fingerprints(path: Path) -> None:
    """Fit small models and write the hashes; runs inside the recorded revision."""
    hashes = {name: _hash_of(make()) for name, make in _models()}
    path.write_text(json.dumps(hashes, indent=2) + "\n")


def _git(*arguments: str) -> None:
    subprocess.run(
        ["git", "-C", str(ROOT), *arguments], check=True, capture_output=True
    )


def _record_part(part: str, tree: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if part == "fingerprints":
        script = [str(Path(__file__).resolve()), "fingerprints"]
        _python(tree, *script, str(folder / "fingerprints.json"))
    elif part == "smoke":
        for group, artefacts in SMOKE.items():
            options = SMOKE_OPTIONS.get(group, ())
            _reproduce(tree, folder / part / group, "smoke", artefacts, *options)
    else:
        for group, (preset, artefacts) in STORED.items():
            export = next(tree.glob(f"**/results/{group}/results.csv.gz"))
            out = folder / part / group
            out.mkdir(parents=True, exist_ok=True)
            plain = out / "export.csv"
            with gzip.open(export) as source, plain.open("wb") as target:
                shutil.copyfileobj(source, target)
            options = ("--stored-only", "--import", str(plain))
            _reproduce(tree, out, preset, artefacts, *options)
            plain.unlink()


def _reproduce(
    tree: Path, out: Path, preset: str, artefacts: tuple[str, ...], *options: str
) -> None:
    arguments = [*artefacts, "--preset", preset, "--out", str(out), *options]
    _python(tree, "-m", "betanll", "reproduce", *arguments)
    for leftover in out.glob("sweep.db*"):
        leftover.unlink()


def _python(tree: Path, *arguments: str) -> None:
    """Run Python with the packages of a tree."""
    sources = [str(path) for path in (tree / "src", tree / "paper" / "src", tree)]
    data = os.environ.get("BETANLL_DATA", str(ROOT.parent / "shared" / "data"))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sources),
        "BETANLL_DATA": data,
    }
    subprocess.run([sys.executable, *arguments], check=True, env=environment)


def _results(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.suffix == ".csv" or path.name == "fingerprints.json":
            yield str(path.relative_to(folder))


def _content(path: Path) -> Any:
    """Return the lines of a file without columns of times, None if there is none."""
    if not path.exists():
        return None
    if path.suffix != ".csv":
        return json.loads(path.read_text())
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    kept = [i for i, name in enumerate(rows[0]) if name not in TIMES] if rows else []
    return [[row[i] for i in kept] for row in rows]


def _show_fingerprints(before: Path, after: Path) -> None:
    old, new = (
        json.loads(p.read_text()) if p.exists() else {} for p in (before, after)
    )
    for name in sorted(set(old) | set(new)):
        if old.get(name) != new.get(name):
            click.echo(f"  {name}")


def _models() -> Iterator[tuple[str, Callable[[], Path]]]:
    """Yield names, and functions that fit a model and return the folder it wrote."""
    from betanll.objectives import OBJECTIVES

    for name in OBJECTIVES:
        yield f"objective {name}", lambda name=name: _regressor(objective=name)
    for preset in PRESETS:
        yield f"preset {preset}", lambda preset=preset: _regressor(preset=preset)
    yield "autoencoder", _autoencoder
    yield "depth", _depth


def _regressor(**parameters: Any) -> Path:
    import numpy as np

    from betanll import HeteroscedasticRegressor

    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    noise = 0.3 * np.exp(x[:, 1:] / 2) * rng.normal(size=(400, 2))
    y = np.sin(x[:, :1]) + noise
    settings = {"max_updates": 400, "n_members": 2, "random_state": 0, **parameters}
    if "preset" in parameters:
        del settings["n_members"]
    model = HeteroscedasticRegressor(**settings).fit(x, y)
    folder = Path(tempfile.mkdtemp())
    model.save(folder / "model")
    predictive = model.predict_dist(x)
    np.savez(
        folder / "predictions.npz",
        mean=predictive.mean,
        std=predictive.std,
        log_prob=predictive.log_prob(y),
        interval=model.predict_interval(x, 0.9),
    )
    return folder


def _autoencoder() -> Path:
    import numpy as np

    from betanll_paper.autoencoders import VAE

    images = np.random.default_rng(0).uniform(size=(200, 6, 6))
    model = VAE(
        n_latent=2, hidden_layer_sizes=(16,), max_iter=5, random_state=0, batch_size=32
    ).fit(images)
    folder = Path(tempfile.mkdtemp())
    model.save(folder / "model")
    mean, spread = model.encode(images)
    np.savez(folder / "codes.npz", mean=mean, spread=spread)
    return folder


def _depth() -> Path:
    import torch

    from betanll_paper import depth

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mean = torch.nn.Conv2d(3, 1, 3, padding=1)
            self.variance = torch.nn.Conv2d(3, 1, 3, padding=1)

        def forward(self, image: Any) -> Any:
            softplus = torch.nn.functional.softplus
            mean = softplus(self.mean(image) + 2)
            return mean, softplus(self.variance(image)) + 1e-3

    torch.manual_seed(0)
    folder = Path(tempfile.mkdtemp())
    scenes = [depth.SyntheticScenes(n, size=(16, 24), seed=n) for n in (4, 2)]
    depth.train_depth(
        Network(),
        depth.DepthLoss("beta-nll", 0.5),
        *scenes,
        folder,
        settings=depth.TrainingSettings(epochs=2, batch_size=4),
        crop=False,
    )
    return folder


def _hash_of(folder: Path) -> str:
    """Hash the arrays that a model wrote; its JSON names versions and may change."""
    import numpy as np
    from safetensors.numpy import load_file

    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        arrays: dict[str, Any] = {}
        if path.suffix == ".safetensors":
            arrays = load_file(path)
        elif path.suffix == ".npz":
            arrays = dict(np.load(path))
        for name in sorted(arrays):
            digest.update(f"{name} {arrays[name].shape}".encode())
            digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    shutil.rmtree(folder)
    return digest.hexdigest()


if __name__ == "__main__":
    main()
