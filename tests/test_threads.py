import subprocess
import sys
import textwrap

import numpy as np
import pytest

from pellucid._threads import run_chunks


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("grain", [1, 8])
@pytest.mark.parametrize("sizes", [[1] * 50, [1000] + [1] * 40, [1] * 40 + [1000], [3]])
def test_every_neighborhood_is_handled_exactly_once(sizes, grain, threads):
    seen = np.zeros(len(sizes), dtype=int)
    starts = []

    def kernel(begin, end):
        starts.append(begin)
        seen[begin:end] += 1

    run_chunks(kernel, np.concatenate([[0], np.cumsum(sizes)]), threads, grain)
    assert (seen == 1).all()
    assert all(start % grain == 0 for start in starts)


def test_errors_reach_the_caller():
    def kernel(begin, end):
        raise RuntimeError(f"no luck with {begin}")

    with pytest.raises(RuntimeError, match="no luck"):
        run_chunks(kernel, np.arange(11), 2)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")
def test_a_forked_child_has_threads_of_its_own():
    code = """
        import os, warnings
        warnings.simplefilter("ignore")
        import numpy as np
        from pellucid._threads import run_chunks
        run_chunks(lambda a, b: None, np.arange(11), 2)
        child = os.fork()
        if child == 0:
            run_chunks(lambda a, b: None, np.arange(11), 2)
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout  # noqa: S603
    assert printed.strip() == "7"
