"""What importing does; these tests run without Gymnasium too."""

import subprocess
import sys

import pytest


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_without_gymnasium_the_environment_says_what_to_install():
    code = """if True:
        import sys
        sys.modules["gymnasium"] = None
        import betanll_paper.simulators
        betanll_paper.simulators.load_fetch
        try:
            from betanll_paper.simulators import ObjectSlideEnv
        except ImportError as error:
            print(error)
        """
    finished = run(code)
    assert finished.returncode == 0, finished.stderr
    expected = (
        'the environment needs Gymnasium: pip install "betanll-paper[dynamics]"\n'
    )
    assert finished.stdout == expected


def test_the_simulator_needs_no_jax():
    code = """if True:
        import sys
        import betanll_paper.simulators
        betanll_paper.simulators.object_slide(2)
        assert "jax" not in sys.modules
        """
    finished = run(code)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("prefix", ["", "betanll_paper.simulators:"])
def test_importing_registers(prefix):
    pytest.importorskip("gymnasium")
    code = f"""if True:
        import gymnasium
        {"" if prefix else "import betanll_paper.simulators"}
        env = gymnasium.make("{prefix}betanll/ObjectSlide-v1")
        print(env.spec.max_episode_steps)
        """
    finished = run(code)
    assert (finished.returncode, finished.stdout) == (0, "30\n"), finished.stderr


def test_public_names():
    pytest.importorskip("gymnasium")
    import betanll_paper.simulators

    for name in betanll_paper.simulators.__all__:
        assert getattr(betanll_paper.simulators, name).__doc__, name
