"""Run by path in a plain interpreter of its own, which stays warm: one line in is a program, one line out its answer.

It imports nothing of ours, and has imported beforehand what the programs need, as the zygote has.
"""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    import numpy.random  # noqa: F401 - to be warm
    import pandas  # noqa: F401

    for line in sys.stdin:
        job = json.loads(line)
        names = {"__name__": "__main__", **job["inputs"]}
        start = time.process_time()
        exec(compile(job["code"], "script.py", "exec"), names)
        answer = {"result": names["result"], "cpu_seconds": time.process_time() - start}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
