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
        import betanll.dynamics
        betanll.dynamics.load_fetch
        try:
            from betanll.dynamics import ObjectSlideEnv
        except ImportError as error:
            print(error)
        """
    finished = run(code)
    assert finished.returncode == 0, finished.stderr
    expected = 'the environment needs Gymnasium: pip install "betanll[dynamics]"\n'
    assert finished.stdout == expected


def test_the_simulator_needs_no_gymnasium():
    code = """if True:
        import sys
        import betanll.datasets
        betanll.datasets.object_slide(2)
        assert "gymnasium" not in sys.modules
        assert "jax" not in sys.modules
        """
    finished = run(code)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("prefix", ["", "betanll.dynamics:"])
def test_importing_registers(prefix):
    pytest.importorskip("gymnasium")
    code = f"""if True:
        import gymnasium
        {"" if prefix else "import betanll.dynamics"}
        env = gymnasium.make("{prefix}betanll/ObjectSlide-v1")
        print(env.spec.max_episode_steps)
        """
    finished = run(code)
    assert (finished.returncode, finished.stdout) == (0, "30\n"), finished.stderr


def test_public_names():
    pytest.importorskip("gymnasium")
    import betanll.dynamics

    for name in betanll.dynamics.__all__:
        assert getattr(betanll.dynamics, name).__doc__, name
