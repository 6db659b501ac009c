import multiprocessing
import subprocess
import sys

import pytest

from betanll.processes import UNGUARDED, refuse_to_nest

SCRIPT = """
from betanll.processes import check_guard, refuse_to_nest

refuse_to_nest()
check_guard("work")
"""


def test_the_call_is_refused_in_a_process_that_imports_the_script(monkeypatch):
    refuse_to_nest()
    process = multiprocessing.current_process()
    monkeypatch.setattr(process, "_inheriting", True, raising=False)
    with pytest.raises(SystemExit) as caught:
        refuse_to_nest()
    assert caught.value.code == UNGUARDED


@pytest.mark.parametrize("is_guarded", [True, False])
def test_a_guard_is_asked_for_where_it_is_missing(tmp_path, is_guarded):
    lines = SCRIPT.strip().splitlines()
    if is_guarded:
        lines[2:] = [f'if __name__ == "__main__": {line}' for line in lines[2:]]
    script = tmp_path / "script.py"
    script.write_text("\n".join(lines))
    process = subprocess.run([sys.executable, script], capture_output=True, text=True)
    if is_guarded:
        assert (process.returncode, process.stderr) == (0, "")
        return
    assert process.returncode == 1
    assert process.stderr.count("Traceback") == 1
    last = process.stderr.splitlines()[-1]
    assert last.endswith('calls work: put the call below `if __name__ == "__main__":`')
