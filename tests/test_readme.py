"""The code of README.md, run from top to bottom."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.torch
def test_code_of_the_readme_runs(capsys):
    pytest.importorskip("torch")
    text = README.read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    # (0 - 1) / 4 ** 0.5
    assert capsys.readouterr().out.startswith("[-0.5]")
    assert names["best"].status in ("stopped", "completed")


def test_links_of_the_readme_exist():
    targets = re.findall(r"\]\(([^)#]+)\)", README.read_text("utf-8"))
    local = [target for target in targets if "://" not in target]
    assert local
    for target in local:
        assert (README.parent / target).exists(), target
