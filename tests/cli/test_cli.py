import os
import signal
import subprocess
import sys
import time

import pytest

from betanll.cli import main


def run(*arguments):
    """Return the exit code of the command line."""
    try:
        main([*arguments])
    except SystemExit as exit_:
        return exit_.code
    return 0


def modules_after(code):
    """Return the names of the modules that a fresh interpreter has after `code`."""
    program = f"{code}\nimport sys\nprint(*sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(out.stdout.split())


def test_importing_and_help_load_no_framework():
    heavy = {"jax", "torch", "pandas", "sklearn", "scipy", "matplotlib"}
    assert not heavy & modules_after("import betanll")
    # `--help` of the program and of a command
    commands = ("bench", "compare", "demo", "explain", "fit", "predict", "reproduce")
    for arguments in (["--help"], *([name, "--help"] for name in commands)):
        code = (
            "from betanll.cli import main\n"
            f"try: main({arguments!r})\nexcept SystemExit as e: assert not e.code"
        )
        assert not heavy & modules_after(code)


def test_overview_lists_every_command(capsys):
    assert run("--help") == 0
    out = capsys.readouterr().out
    for name in ("bench", "compare", "demo", "explain", "fit", "predict"):
        assert name in out


def test_compiled_programs_are_kept_for_the_next_run(tmp_path):
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    del environment["JAX_COMPILATION_CACHE_DIR"]
    program = "from betanll.cli import main; main()"
    (tmp_path / "data.csv").write_text("x,y\n" + "1,2\n3,4\n" * 20)
    options = ["--target", "y", "--preset", "fast", "--max-updates", "9"]
    arguments = ["fit", "data.csv", *options]
    subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment,
        cwd=tmp_path,
        check=True,
    )
    kept = list((tmp_path / "cache" / "betanll" / "jax").iterdir())
    assert any("jit__run" in path.name for path in kept)


def test_version(capsys):
    assert run("--version") == 0
    assert "betanll, version 0." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], "No such command 'nope'"),
        (["demo", "--updates", "3"], "'--updates': 3 is not in the range"),
    ],
)
def test_bad_usage_ends_with_code_2(arguments, message, capsys):
    assert run(*arguments) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_no_command_shows_the_overview(capsys):
    run()
    captured = capsys.readouterr()
    assert "Usage: betanll" in captured.out + captured.err


def test_errors_of_several_lines_become_one(monkeypatch, capsys):
    def fail(*arguments, **options):
        raise ValueError("Input X\n  is wrong:\n  very")

    monkeypatch.setattr("betanll.cli.cli.main", fail)
    assert run("fit") == 2
    assert capsys.readouterr().err == "betanll: Input X is wrong: very\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "data.csv", "--target", "y", "--beta", "x" * 5000],
        ["fit", "\x1b[31m.csv" + "x" * 5000, "--target", "y"],
        ["predict", "\x1b[31mmodel" + "x" * 5000, "data.csv"],
        ["diagnose", "data.csv", "--target", "y", "--seed", "9" * 5000],
        ["compare", "data.csv", "--target", "y", "--objective", "\x1b[31m" * 500],
    ],
    ids=lambda arguments: arguments[0],
)
def test_long_or_unprintable_arguments_do_not_fill_the_screen(refused, arguments):
    line = refused(*arguments)
    assert line.startswith("betanll: ")
    assert "\x1b" not in line


def test_too_little_memory_is_one_line(monkeypatch, capsys):
    def fail(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("betanll.cli.cli.main", fail)
    assert run("fit") == 2
    assert capsys.readouterr().err == "betanll: there is not enough memory\n"


def test_memory_is_named(monkeypatch, capsys):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("betanll.cli.cli.main", fail)
    error = MemoryError("training needs 5 GiB:\nchoose smaller layers")
    assert run("fit") == 2
    said = capsys.readouterr().err
    assert said == "betanll: training needs 5 GiB: choose smaller layers\n"
    error = RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 5 bytes.\nat x")
    assert run("predict") == 2
    said = capsys.readouterr().err
    assert said.startswith("betanll: JAX ran out of memory: choose")
    assert said.count("\n") == 1


@pytest.mark.parametrize("platforms", [None, "cpu"])
def test_faults_of_the_program_are_not_hidden(platforms, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("a fault")

    monkeypatch.setattr("betanll.cli.cli.main", fail)
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    if platforms:
        monkeypatch.setenv("JAX_PLATFORMS", platforms)
    with pytest.raises(RuntimeError, match="a fault"):
        run("fit")


@pytest.mark.parametrize("platforms", ["nonsense", "cuda", "cpu,nonsense"])
def test_platforms_that_jax_cannot_use(platforms, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a,y\n" + "".join(f"{i},{i % 3}\n" for i in range(20)))
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-m", "betanll", "fit", table, "--target", "y", "--out", out],
        env={**os.environ, "JAX_PLATFORMS": platforms},
        capture_output=True,
        text=True,
    )
    if platforms == "cuda" and done.returncode == 0:
        pytest.skip("there is a graphics card")
    assert done.returncode == 2
    assert done.stderr == (
        f"betanll: JAX cannot use JAX_PLATFORMS={platforms} on this machine: unset it, "
        "or set it to cpu\n"
    )
    assert not out.exists()


def test_demo_trains_and_writes_a_picture_and_a_report(tmp_path, capsys):
    out = tmp_path / "deep" / "demo"
    assert run("demo", "--updates", "300", "--out", str(out)) == 0
    printed = capsys.readouterr().out
    assert "beta-NLL, beta = 1" in printed
    assert "estimator, defaults" in printed
    assert "ridge, constant spread" in printed
    assert "covers 90%" in printed
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "sine.png"]
    assert (out / "sine.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "report.html").read_text()
    assert "The pitfall, and the cure" in page
    assert "for 300 updates" in page
    assert "disease progression" in page


def test_unwritable_output_is_one_line(tmp_path, capsys):
    blocker = tmp_path / "file"
    blocker.write_text("in the way")
    out = str(blocker / "demo")
    assert run("demo", "--updates", str(10**9), "--out", out) == 2  # before training
    assert capsys.readouterr().err == f"betanll: {blocker} is not a folder\n"


def test_ctrl_c_stops_a_training_and_leaves_nothing(tmp_path):
    # A test worker may run with the signal ignored, which the process would inherit.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from betanll.cli import main; main()"
    )
    arguments = ["demo", "--updates", str(10**9), "--out", str(tmp_path / "demo")]
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert "The pitfall" in process.stdout.readline()
        time.sleep(4)  # compiling or training: either must give way
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert err.strip() == "betanll: interrupted"
    assert not list(tmp_path.iterdir())
