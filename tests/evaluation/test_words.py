"""What the doctor advises, in words, for every combination of scores."""

from types import SimpleNamespace

import pytest

from betanll.evaluation._words import _why_not, sentences


def advice(beta, rmse, log_likelihood, *, pitfall):
    """Return the last sentences of a made-up diagnosis."""
    names = ("nll", "beta-nll:0.5", "beta-nll:1", "mse")
    evidence = SimpleNamespace(
        challenger="mse", gain=0.1, gain_low=0.0, ignored_share=0.9
    )
    *_, last = sentences(
        SimpleNamespace(
            pitfall=pitfall,
            recommended_beta=beta,
            rmse=dict(zip(names, rmse, strict=True)),
            log_likelihood=dict(zip(names, log_likelihood, strict=True)),
            evidence=evidence,
            targets=["y"],
            effective_sample_fraction=0.5,
            starved_fraction=0.1,
            regions=[],
            ignored_rows=[],
            n_rows=100,
        )
    )
    return last


@pytest.mark.parametrize(
    ("rmse", "log_likelihood", "words"),
    [
        (1.0, -1.0, "lowers the typical error from 2 to 1 and raises the log-like"),
        (1.0, -3.0, "lowers the typical error from 2 to 1, but also the log-lik"),
        (3.0, -1.0, "raises the log-likelihood from -2 to -1, but also the typical"),
        (3.0, -3.0, "raises the typical error from 2 to 3 and lowers the log-lik"),
    ],
)
def test_words_say_which_way_scores_go(rmse, log_likelihood, words):
    scores = ([2.0, 9.0, rmse, 1.0], [-2.0, -9.0, log_likelihood, -1.0])
    text = advice(1.0, *scores, pitfall=True)
    assert text.startswith(f"Recommended: beta 1. On held-out rows it {words}")
    assert ("--calibration scale" in text) is (rmse < 2 and log_likelihood < -2)
    assert ("beta alone is not the cure" in text) is (rmse > 2 and log_likelihood < -2)


def test_keeping_the_plain_likelihood():
    text = advice(0.0, [1.0, 2.0, 2.0, 1.0], [-1.0, -2.0, -2.0, -1.0], pitfall=False)
    assert text == (
        "Recommended: keep beta 0, plain NLL. Beta 0.5 is the safe choice "
        "if data or network may change."
    )
    # The table shows better scores, which the advice must not pass over.
    text = advice(0.0, [1.0, 0.9, 2.0, 1.0], [-1.0, -0.9, -2.0, -1.0], pitfall=False)
    assert "held-out scores of beta 0.5 are better, but validation rows did not" in text
    # Nor that one spread for all rows would do best.
    assert "constant spread" not in text
    text = advice(0.0, [1.0, 2.0, 2.0, 1.0], [-2.6, -2.7, -2.8, -2.4], pitfall=False)
    assert text.endswith(
        "(mse) has the highest log-likelihood, -2.4: the noise may be "
        "the same everywhere."
    )


def test_a_better_beta_without_the_pitfall_is_no_contradiction():
    text = advice(0.5, [1.0, 0.9, 2.0, 1.0], [-1.0, -0.9, -2.0, -1.0], pitfall=False)
    assert text.startswith("Recommended: beta 0.5, better even so. On held-out rows it")


@pytest.mark.parametrize(
    ("gain", "low", "share", "words"),
    [
        (0.04, 0.0, 0.9, "predict the rows that NLL calls noisy no better"),
        (0.2, 0.1, 0.9, "by 20%, less than the 25% that would show the pitfall"),
        (0.4, 0.05, 0.9, "by 40%, which may be chance on so few rows"),
        (0.4, 0.2, 0.3, "by 40%, but only 30% of that gain lies in rows that NLL down"),
    ],
)
def test_the_condition_that_fails_is_named(gain, low, share, words):
    evidence = SimpleNamespace(
        challenger="mse", gain=gain, gain_low=low, ignored_share=share
    )
    assert words in _why_not(SimpleNamespace(evidence=evidence))
