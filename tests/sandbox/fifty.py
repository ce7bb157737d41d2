"""Fifty jobs that every backend must answer alike: programs that end in every way, with every kind of input."""

from __future__ import annotations

from collections.abc import Mapping

from ringfence.sandbox.job import Job, Limits

SMALL = Limits(wall_seconds=20, memory_mb=128, disk_mb=8, processes=32)


def _job(code: str, **given: object) -> Job:
    arguments: dict[str, object] = {"code": code, "limits": SMALL, "seed": 7, **given}
    return Job(**arguments)  # type: ignore[arg-type]


def _limited(code: str, **limits: float) -> Job:
    bounds = {"wall_seconds": 20, "memory_mb": 128, "disk_mb": 8, "processes": 32, **limits}
    return Job(code=code, limits=Limits(**bounds), seed=7)  # type: ignore[arg-type]


_FILES = {"in.txt": b"one\n", "folder/two.txt": b"two\n"}

JOBS: Mapping[str, Job] = {
    # Results
    "nothing": _job("pass"),
    "number": _job("result = 41 + 1"),
    "float": _job("result = 0.1 + 0.2"),
    "text": _job("result = 'a\\u00e9\\u4e2d'"),
    "list": _job("result = [1, None, True, 'x', [2.5]]"),
    "by_call": _job("ringfence_result({'a': 1})"),
    "decimal": _job("from decimal import Decimal\nresult = Decimal('1.10')"),
    "date": _job("from datetime import date\nresult = date(2024, 2, 29)"),
    "array": _job("import numpy as np\nresult = np.arange(6).reshape(2, 3)"),
    "frame": _job("import pandas as pd\nresult = pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})"),
    "series": _job("import pandas as pd\nresult = pd.Series([1.5, 2.5], name='s')"),
    "indicator": _job("import numpy as np, talib\nresult = talib.SMA(np.arange(9.0), 3)[-1]"),
    "not_a_result": _job("result = object()"),
    "nan": _job("result = float('nan')"),
    # Streams
    "print": _job("print('out')"),
    "both_streams": _job("import sys\nprint('out')\nprint('err', file=sys.stderr)"),
    "bad_utf8": _job("import os\nos.write(1, b'a\\xff\\x00b')"),
    "no_newline": _job("print('x' * 1000, end='')"),
    "capped": _limited("print('x' * 5000)", output_bytes=1000),
    "large": _job("print('line\\n' * 100_000)"),
    # Errors
    "zero": _job("def f():\n    return 1 / 0\n\nf()"),
    "own_error": _job("class Odd(Exception): pass\nraise Odd('why')"),
    "syntax": _job("x = (1,\ny = 2"),
    "missing_module": _job("import no_such_module"),
    "recursion": _job("def f(n): return f(n + 1)\nf(0)"),
    "memory_error": _job("raise MemoryError('mine')"),
    "chained": _job("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('then') from e"),
    "after_output": _job("print('so far')\nraise SystemError('stop')"),
    # Endings
    "exit_3": _job("import sys\nsys.exit(3)"),
    "exit_text": _job("import sys\nsys.exit('bye')"),
    "exit_0": _job("import sys\nresult = 5\nsys.exit(0)"),
    "os_exit": _job("import os\nos._exit(9)"),
    "abort": _job("import os\nos.abort()"),
    "kill_self": _job("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
    "terminate_self": _job("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)"),
    "atexit": _job("import atexit\natexit.register(print, 'bye')\nresult = 1"),
    # Limits
    "timeout": _limited("print('begun', flush=True)\nwhile True: pass", wall_seconds=1),
    "asleep": _limited("import time\ntime.sleep(60)", wall_seconds=1),
    "cpu": _limited("while True: pass", cpu_seconds=1),
    "memory": _limited("x = bytearray(1 << 30)\nx[::4096] = b'x' * len(x[::4096])", memory_mb=64),
    "disk": _limited("open('/tmp/big', 'wb').write(bytes(32 << 20))"),
    # What goes in, and what comes out
    "inputs": _job("result = [a, b['c']]", inputs={"a": 1, "b": {"c": [2, 3]}}),
    "files": _job("result = [open('in.txt').read(), open('folder/two.txt').read()]", files=_FILES),
    "argv": _job("import sys\nresult = sys.argv[1:]", argv=["--x", "y z"]),
    "seeded": _job("import random\nimport numpy as np\nresult = [random.random(), float(np.random.rand())]"),
    "hashes": _job("result = [hash('a'), list({'b', 'a', 'c'})]"),
    "where": _job("import os\nresult = [os.getcwd(), os.environ['HOME'], sorted(os.listdir('.'))]"),
    "artifact": _job("open('a.csv', 'w').write('a,b\\n1,2\\n')"),
    "rejected": _job("import os\nos.symlink('/etc/passwd', 'link')\nos.mkfifo('fifo')\nopen('kept', 'w').write('x')"),
    "command": Job(argv=["echo", "hello"], limits=SMALL),
}
