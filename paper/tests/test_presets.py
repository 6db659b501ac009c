"""What is said of runs that are shorter than the paper's."""

from dataclasses import replace

from betanll_paper.depth.protocol import PAPER, chosen_preset
from betanll_paper.presets import Preset
from betanll_paper.uci.protocol import PRESETS

WHOLE = Preset(5, {"": 100, "NLL": 100}, {"rate": (1, 2)}, {"image": None}, {"a": 1})


def test_nothing_is_said_of_a_run_like_the_papers():
    assert WHOLE.shortened(WHOLE) == WHOLE.warnings(WHOLE) == []
    assert WHOLE.note("paper", WHOLE) == (
        "Preset paper: 100 epochs, 5 seeds, 2 rates, a 1."
    )


def test_everything_that_is_less_is_said():
    short = Preset(1, {"": 7, "NLL": 20}, {"rate": (1,)}, {"image": 64}, {"a": 2})
    assert short.shortened(WHOLE) == [
        "20 epochs of NLL instead of 100",
        "7 epochs of the others instead of 100",
        "64 images instead of all",
        "1 seed instead of 5",
        "1 rate instead of 2",
        "a 2 instead of 1",
    ]
    assert short.warnings(WHOLE)[0].startswith("Shortened run: 20 epochs of NLL")


def test_more_than_the_paper_is_told_and_not_shortened():
    longer = replace(WHOLE, repeats=6)
    assert longer.shortened(WHOLE) == []
    assert "6 seeds instead of 5" in longer.note("mine", WHOLE)


def test_lengths_by_name():
    smoke, paper = PRESETS["smoke"], PRESETS["paper"]
    assert (smoke.length_of("yacht"), smoke.length_of("protein")) == (60, 60)
    assert (paper.length_of("yacht"), paper.length_of("protein")) == (20_000, 100_000)
    assert smoke.shortened(paper)[0] == (
        "60 updates of carbon, kin8m, naval, power, protein and superconductivity "
        "instead of 100,000"
    )
    assert PRESETS["laptop"].shortened(paper) == ["5 splits instead of 20"]


def test_depth_names_its_other_data_and_encoder():
    texts = chosen_preset("laptop", "synthetic").shortened(PAPER)
    assert "data synthetic instead of nyuv2" in texts
    assert "encoder small instead of google/efficientnet-b5" in texts
    assert "batch size 4 instead of 16" in texts
    assert PAPER.shortened(PAPER) == []
