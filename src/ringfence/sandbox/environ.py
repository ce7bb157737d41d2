"""All that a job ever sees of an environment, on every backend."""

from __future__ import annotations

from collections.abc import Mapping


def guest_environ(bin_dir: str) -> Mapping[str, str]:
    """`bin_dir` is where the guest's interpreter lies.

    One thread for each numeric library: the process that forks jobs must be single-threaded, and a job's CPUs are its
    own to spend.
    """
    return {
        "PATH": f"{bin_dir}:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/job",
        "USER": "guest",
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
        "XDG_CACHE_HOME": "/tmp/.cache",  # or caches would be artifacts
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": "/tmp/matplotlib",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        "MLX_DISABLE_COMPILE": "1",  # it would compile with a C++ compiler, which no jail has
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
