"""The commands about the paper: help lines and import paths by name."""

from __future__ import annotations

COMMANDS = {
    "bench": (
        "Time updates next to a plain PyTorch loop and the matmul peak.",
        "betanll_paper.commands.bench:command",
    ),
    "data": (
        "The paper's data sets: list, download, generate.",
        "betanll_paper.commands.data:command",
    ),
    "depth": (
        "Learn the depth of pixels from images, with its uncertainty.",
        "betanll_paper.commands.depth:command",
    ),
    "reproduce": (
        "Tables and figures of the paper, beside the paper's numbers.",
        "betanll_paper.commands.reproduce:command",
    ),
}
