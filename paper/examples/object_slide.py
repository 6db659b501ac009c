"""Learn the dynamics of ObjectSlide and roll the model out with samples.

    python paper/examples/object_slide.py --out object-slide

An agent on a line may hit an object, which then slides. A model learns one step from
episodes of random actions. Then, for each of 500 new episodes, 100 particles follow the
true actions from the true first state and draw every step from the model. Prints errors
and coverages by horizon, and draws four episodes.
"""

from pathlib import Path

import click
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from betanll import HeteroscedasticRegressor
from betanll.metrics import interval_coverage
from betanll_paper.simulators import object_slide_splits, object_slide_step

N_STEPS = 30
HORIZONS = [1, 5, 10, 20, 30]
# The columns of their positions in a state; their velocities follow.
AGENT, OBJECT = 0, 2
THINGS = (("object", OBJECT, "#2b7bba"), ("agent", AGENT, "#cf5a1a"))


def episodes(samples):
    """Return states, (n_episodes, 31, 4), and actions, (n_episodes, 30, 1)."""
    inputs = samples.x.reshape(-1, N_STEPS, 5)
    states, actions = inputs[..., :4], inputs[..., 4:]
    last = object_slide_step(states[:, -1], actions[:, -1])
    return np.concatenate([states, last[:, None]], axis=1), actions


def as_rows(states, actions):
    """Join states and actions to rows of inputs; all particles share the actions."""
    actions = np.broadcast_to(actions, (*states.shape[:-1], actions.shape[-1]))
    inputs = np.concatenate([states, actions], axis=-1)
    return inputs.reshape(-1, inputs.shape[-1])


def learn(states, actions, *, beta=0.5, seed=0, n_members=3, max_updates=10_000):
    """Return a model that predicts the change of the state from state and action."""
    model = HeteroscedasticRegressor(
        beta=beta,
        n_members=n_members,
        max_updates=max_updates,
        # A contact is a jump where a difference of inputs crosses a threshold. Plain
        # standardised inputs show it better than quantiles of each column, and ReLU
        # units without weight decay can become as steep as it takes.
        n_bins=0,
        hidden_layer_sizes=(128, 128, 128),
        activation="relu",
        weight_decay=0.0,
        learning_rate_init=3e-3,
        # The default would replace the mixture of the members by one Student t.
        calibration="scale",
        random_state=seed,
        verbose=1,
    )
    changes = np.diff(states, axis=1).reshape(-1, states.shape[-1])
    return model.fit(as_rows(states[:, :-1], actions), changes)


def roll_out(model, first_states, actions, *, n_particles=100, seed=0):
    """Return sampled states, (n_particles, n_episodes, n_steps + 1, n_state)."""
    rng = np.random.default_rng(seed)
    states = np.broadcast_to(first_states, (n_particles, *first_states.shape))
    path = [states]
    for actions_now in actions.swapaxes(0, 1):
        changes = model.sample(as_rows(states, actions_now), random_state=rng)[0]
        states = states + changes.reshape(states.shape)
        path.append(states)
    return np.stack(path, axis=2)


def quantiles(particles, levels):
    """Return quantiles over the particles, whose bands are not too narrow for few."""
    return np.quantile(particles, levels, axis=0, method="weibull")


def scores(particles, truth):
    """Return how good mean and 90% band of the object's position are, by horizon."""
    particles, truth = particles[..., OBJECT], truth[..., OBJECT]
    is_hit = truth[:, -1] > truth[:, 0]
    low, high = quantiles(particles, [0.05, 0.95])
    is_held = (low <= truth) & (truth <= high)
    columns = {
        "step": np.arange(truth.shape[1]),
        "RMSE": ((particles.mean(axis=0) - truth) ** 2).mean(axis=0) ** 0.5,
        "unmoved": ((truth[:, :1] - truth) ** 2).mean(axis=0) ** 0.5,
        "held": is_held.mean(axis=0),
        "held if hit": is_held[is_hit].mean(axis=0),
        "width if hit": np.median((high - low)[is_hit], axis=0),
    }
    return pd.DataFrame(columns).loc[HORIZONS]


def one_step_coverage(model, truth, actions):
    """Return how often 90% intervals hold the object's change: always, and in hits."""
    _, _, change, gain = np.diff(truth, axis=1).reshape(-1, 4).T
    interval = model.predict_interval(as_rows(truth[:, :-1], actions))[..., OBJECT]
    is_hit = gain > 0  # nothing else makes it faster
    in_hits = interval_coverage(interval[is_hit], change[is_hit])
    return interval_coverage(interval, change), in_hits


def chosen_episodes(particles, truth):
    """Return four episodes to draw, chosen by rule rather than by looks."""
    distance = truth[:, -1, OBJECT] - truth[:, 0, OBJECT]
    gap = np.min((truth[..., OBJECT] - truth[..., AGENT])[:, :21], axis=1)
    hits, misses = np.flatnonzero(distance > 0), np.flatnonzero(distance == 0)
    hits, misses = hits[np.argsort(distance[hits])], misses[np.argsort(gap[misses])]
    low, high = quantiles(particles[:, :, -1, OBJECT], [0.05, 0.95])
    return {
        "hit (median distance)": hits[len(hits) // 2],
        "nearest miss (first 20 steps)": misses[0],
        "no contact (median gap)": misses[len(misses) // 2],
        "widest band": np.argmax(high - low),
    }


def draw(particles, truth, path):
    """Draw medians and bands of the particles, and the truth."""
    figure = plt.figure(figsize=(7.4, 6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    steps = np.arange(truth.shape[1])
    chosen = chosen_episodes(particles, truth)
    for ax, (title, episode) in zip(axes.flat, chosen.items(), strict=True):
        for name, column, color in THINGS:
            positions = particles[:, episode, :, column]
            bands = quantiles(positions, [0.05, 0.25, 0.5, 0.75, 0.95])
            ax.fill_between(steps, bands[0], bands[4], color=color, alpha=0.25, lw=0)
            ax.fill_between(steps, bands[1], bands[3], color=color, alpha=0.4, lw=0)
            ax.plot(steps, bands[2], color=color, label=name)
        ax.plot(steps, truth[episode][:, [OBJECT, AGENT]], "k:", label=["truth", None])
        ax.set_title(title)
    figure.supxlabel("step of 0.1 s", size="medium")
    figure.supylabel("position (m)", size="medium")
    handles = axes[0, 0].get_legend_handles_labels()[0]
    title = f"line: median, bands: 50% and 90% of {len(particles)} particles"
    legend = {"loc": "outside upper center", "ncols": 3, "frameon": False}
    figure.legend(handles=handles, title=title, **legend)
    figure.savefig(path, dpi=120)
    plt.close(figure)


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder.")
@click.option("--seed", default=0, show_default=True)
@click.option("--beta", default=0.5, show_default=True, help="0 is the likelihood.")
def main(out, seed, beta):
    """Learn the dynamics of ObjectSlide, print a table and draw rollouts into OUT."""
    train, _, test = object_slide_splits(seed=seed)
    model = learn(*episodes(train), beta=beta, seed=seed)
    model.save(out / "model")

    truth, actions = (part[:500] for part in episodes(test))
    held, held_in_hits = one_step_coverage(model, truth, actions)
    print(f"90% intervals of one step: {held:.2f} held, {held_in_hits:.2f} in hits")
    particles = roll_out(model, truth[:, 0], actions, seed=seed)
    print(scores(particles, truth).round(3).to_string(index=False))
    draw(particles, truth, out / "object-slide.png")


if __name__ == "__main__":
    main()
