"""The real images of NYU Depth V2, and how figures are checked."""

import shutil

import pytest


@pytest.fixture
def nyu_dir(data_dir, tmp_path):
    """The real pairs as a folder of NYU Depth V2, three scenes to train on."""
    source = data_dir / "nyuv2"
    folder = tmp_path / "nyu"
    lines = {"sync": [], "official_splits/test": []}
    for line in (source / "filelist.txt").read_text().splitlines():
        scene = line.split("/")[0]
        if scene in ("basement", "labelled"):
            lines["sync"].append(line)
        elif scene == "living_room":
            lines["official_splits/test"].append(line)
        part = "sync" if scene in ("basement", "labelled") else "official_splits/test"
        shutil.copytree(source / scene, folder / part / scene, dirs_exist_ok=True)
    for part, name in (("sync", "train"), ("official_splits/test", "test")):
        text = "\n".join([*lines[part], ""])
        (folder / f"nyudepthv2_{name}_files_with_gt.txt").write_text(text)
    return folder


@pytest.fixture(scope="session")
def is_whole():
    """A function that tells whether all of a figure's marks are inside its frame."""

    def check(figure):
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
        return (
            min(box.x0, box.y0) >= 0
            and box.x1 <= figure.get_figwidth()
            and box.y1 <= figure.get_figheight()
        )

    return check
