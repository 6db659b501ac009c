"""What importing does and does not load; these tests run without PyTorch too."""

import subprocess
import sys

import pytest


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )


def test_importing_betanll_loads_neither_jax_nor_torch():
    code = """if True:
        import sys
        import betanll
        import betanll.losses
        betanll.losses.gaussian_nll([0.0], [1.0], [2.0])
        assert "jax" not in sys.modules
        assert "torch" not in sys.modules
        """
    finished = run(code)
    assert finished.returncode == 0, finished.stderr


def test_without_torch_the_error_says_what_to_install():
    code = """if True:
        import sys
        sys.modules["torch"] = None
        try:
            import betanll.torch
        except ImportError as error:
            print(error)
        assert "betanll.torch" not in sys.modules
        """
    finished = run(code)
    assert finished.returncode == 0, finished.stderr
    expected = 'betanll.torch needs PyTorch: pip install "betanll[torch]"\n'
    assert finished.stdout == expected


def test_a_torch_that_does_not_load_keeps_its_own_error():
    # Something that PyTorch needs is missing: it is not PyTorch to be installed.
    code = """if True:
        import sys

        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "torch":
                    raise ModuleNotFoundError("no sympy", name="sympy")

        sys.meta_path.insert(0, Finder())
        import betanll.torch
        """
    finished = run(code)
    assert finished.returncode == 1
    assert finished.stderr.endswith("ModuleNotFoundError: no sympy\n")


@pytest.mark.torch
def test_public_names():
    pytest.importorskip("torch")
    import betanll.torch

    for name in betanll.torch.__all__:
        member = getattr(betanll.torch, name)
        assert member.__doc__, name
