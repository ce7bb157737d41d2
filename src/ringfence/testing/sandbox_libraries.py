"""Ordinary code of the field works under the default limits."""

from __future__ import annotations

import pytest

from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Job
from ringfence.testing.jobs import result_of, script


class LibraryBehaviours:
    def test_numpy_does_linear_algebra(self, sandbox: Sandbox) -> None:
        code = """
            import numpy as np
            a = np.random.default_rng(1).normal(size=(200, 200))
            result = bool(np.allclose(np.linalg.inv(a) @ a, np.eye(200)))
        """
        assert result_of(sandbox, code) is True

    def test_pandas_rolls_groups_and_reads_csv(self, sandbox: Sandbox) -> None:
        code = """
            import io
            import pandas as pd
            text = 'day,side,close\\n2024-01-01,a,1\\n2024-01-02,b,2\\n2024-01-03,a,6'
            bars = pd.read_csv(io.StringIO(text), parse_dates=['day']).set_index('day')
            result = [bars.close.rolling(2).mean().tolist(), bars.groupby('side').close.sum().to_dict()]
        """
        assert result_of(sandbox, code) == [[None, 1.5, 4.0], {"a": 7, "b": 2}]

    def test_time_zones_are_known(self, sandbox: Sandbox) -> None:
        code = """
            import pandas as pd
            from zoneinfo import ZoneInfo
            from datetime import datetime
            result = [str(pd.Timestamp('2024-07-01 12:00', tz='America/New_York').tz_convert('UTC')),
                      datetime(2024, 7, 1, tzinfo=ZoneInfo('Europe/Berlin')).isoformat()]
        """
        assert result_of(sandbox, code) == ["2024-07-01 16:00:00+00:00", "2024-07-01T00:00:00+02:00"]

    def test_scipy_optimises(self, sandbox: Sandbox) -> None:
        code = """
            from scipy import optimize, stats
            result = [round(optimize.minimize_scalar(lambda x: (x - 2) ** 2).x, 6), round(stats.norm.cdf(0), 6)]
        """
        assert result_of(sandbox, code) == [2.0, 0.5]

    def test_talib_computes_indicators(self, sandbox: Sandbox) -> None:
        code = """
            import numpy as np, talib
            close = np.arange(1.0, 31.0)
            result = [talib.SMA(close, 3)[:4], talib.RSI(close, 14)[-1]]
        """
        assert result_of(sandbox, code) == [[None, None, 2.0, 3.0], 100.0]

    def test_scikit_learn_fits(self, sandbox: Sandbox) -> None:
        code = """
            import numpy as np
            from sklearn.ensemble import RandomForestClassifier
            from sklearn.linear_model import LinearRegression
            x = np.arange(40.0).reshape(-1, 1)
            forest = RandomForestClassifier(5, random_state=0, n_jobs=2).fit(x, x.ravel() > 20)
            line = LinearRegression().fit(x, 3 * x.ravel() + 1)
            result = [round(line.coef_[0], 6), bool(forest.predict([[39.0]])[0])]
        """
        assert result_of(sandbox, code) == [3.0, True]

    def test_numba_compiles(self, sandbox: Sandbox) -> None:
        code = """
            from numba import njit
            @njit
            def total(n):
                s = 0
                for i in range(n):
                    s += i
                return s
            result = total(1000)
        """
        assert result_of(sandbox, code) == 499_500

    def test_numba_compiles_parallel_loops(self, sandbox: Sandbox) -> None:
        code = """
            import numpy as np
            from numba import njit, prange
            @njit(parallel=True)
            def total(x):
                s = 0.0
                for i in prange(x.size):
                    s += x[i]
                return s
            result = total(np.ones(1000))
        """
        assert result_of(sandbox, script(code, wall_seconds=60)) == 1000.0

    def test_matplotlib_draws_to_a_file(self, sandbox: Sandbox) -> None:
        code = """
            import os
            import matplotlib.pyplot as plt
            fig, ax = plt.subplots()
            ax.set_title('Equity \u20ac')
            ax.plot([1, 2, 3], label='line')
            ax.legend()
            fig.savefig('/tmp/equity.png')
            fig.savefig('/tmp/equity.svg')
            plt.close(fig)
            result = min(os.path.getsize('/tmp/equity.png'), os.path.getsize('/tmp/equity.svg')) > 1000
        """
        assert result_of(sandbox, code) is True

    def test_parquet_is_written_and_read(self, sandbox: Sandbox) -> None:
        code = """
            import pandas as pd
            pd.DataFrame({'close': [1.5, 2.5]}).to_parquet('/tmp/bars.parquet')
            result = pd.read_parquet('/tmp/bars.parquet').close.tolist()
        """
        assert result_of(sandbox, code) == [1.5, 2.5]

    def test_threads_work(self, sandbox: Sandbox) -> None:
        code = """
            from concurrent.futures import ThreadPoolExecutor
            with ThreadPoolExecutor(8) as pool:
                result = sum(pool.map(lambda x: x * x, range(100)))
        """
        assert result_of(sandbox, code) == 328_350

    def test_a_pool_of_processes_works(self, sandbox: Sandbox) -> None:
        code = """
            from multiprocessing import Pool
            def square(x):
                return x * x
            if __name__ == '__main__':
                with Pool(2) as pool:
                    result = pool.map(square, range(10))
        """
        assert result_of(sandbox, code) == [x * x for x in range(10)]

    def test_a_process_executor_works(self, sandbox: Sandbox) -> None:
        code = """
            from concurrent.futures import ProcessPoolExecutor
            def cube(x):
                return x ** 3
            if __name__ == '__main__':
                with ProcessPoolExecutor(2) as pool:
                    result = list(pool.map(cube, range(5)))
        """
        assert result_of(sandbox, code) == [0, 1, 8, 27, 64]

    @pytest.mark.parametrize("method", ["spawn", "forkserver"])
    def test_other_ways_to_start_processes_work(self, sandbox: Sandbox, method: str) -> None:
        # These run the program's file again under another name, so it must be there to be read.
        code = """
            import multiprocessing
            def double(queue, x):
                queue.put(x * 2)
            if __name__ == '__main__':
                context = multiprocessing.get_context(method)
                queue = context.Queue()
                process = context.Process(target=double, args=(queue, 21))
                process.start()
                result = queue.get(timeout=20)
                process.join()
        """
        job = Job(code=script(code).code, inputs={"method": method})
        assert result_of(sandbox, job) == 42

    def test_shared_memory_between_processes_works(self, sandbox: Sandbox) -> None:
        code = """
            from multiprocessing import Process, Value, shared_memory
            def fill(name, total):
                block = shared_memory.SharedMemory(name)
                block.buf[0] = 7
                block.close()
                with total.get_lock():
                    total.value += 1
            block, total = shared_memory.SharedMemory(create=True, size=1000), Value('i', 0)
            worker = Process(target=fill, args=(block.name, total))
            worker.start()
            worker.join()
            result = [block.buf[0], total.value]
            block.close()
            block.unlink()
        """
        assert result_of(sandbox, code) == [7, 1]

    def test_the_interpreter_can_be_run_again(self, sandbox: Sandbox) -> None:
        code = """
            import subprocess, sys
            command = [sys.executable, '-c', 'import sys; print(sys.argv[1])', 'again']
            made = subprocess.run(command, capture_output=True, text=True)
            result = [made.returncode, made.stdout, made.stderr]
        """
        assert result_of(sandbox, code) == [0, "again\n", ""]

    def test_libraries_load_in_another_interpreter(self, sandbox: Sandbox) -> None:
        code = """
            import subprocess, sys
            command = [sys.executable, '-c', 'import numpy; print(numpy.arange(3).sum())']
            result = subprocess.run(command, capture_output=True, text=True).stdout
        """
        assert result_of(sandbox, code) == "3\n"

    def test_asyncio_works(self, sandbox: Sandbox) -> None:
        code = """
            import asyncio
            async def main():
                loop = asyncio.get_running_loop()
                child = await asyncio.create_subprocess_exec('echo', 'child', stdout=asyncio.subprocess.PIPE)
                said = (await child.communicate())[0].decode()
                return [*await asyncio.gather(*(asyncio.sleep(0.01, i) for i in range(3))),
                        await loop.run_in_executor(None, sum, [1, 2]), said]
            result = asyncio.run(main())
        """
        assert result_of(sandbox, code) == [0, 1, 2, 3, "child\n"]

    def test_sqlite_works_in_the_working_directory(self, sandbox: Sandbox) -> None:
        code = """
            import sqlite3
            with sqlite3.connect('trades.db') as db:
                db.execute('create table trades (id integer primary key, price real)')
                db.executemany('insert into trades (price) values (?)', [(1.5,), (2.5,)])
            result = sqlite3.connect('trades.db').execute('select count(*), sum(price) from trades').fetchone()
        """
        assert result_of(sandbox, code) == [2, 4.0]

    def test_temporary_files_work(self, sandbox: Sandbox) -> None:
        code = """
            import os, tempfile
            with tempfile.NamedTemporaryFile('w+') as f, tempfile.TemporaryDirectory() as d:
                f.write('x')
                result = [os.path.isdir(d), f.tell()]
        """
        assert result_of(sandbox, code) == [True, 1]

    def test_archives_and_hashes_work(self, sandbox: Sandbox) -> None:
        code = """
            import bz2, gzip, hashlib, lzma, zlib
            data = b'bars' * 100
            whole = all(m.decompress(m.compress(data)) == data for m in (bz2, gzip, lzma, zlib))
            result = [whole, hashlib.md5(b'').hexdigest()]
        """
        assert result_of(sandbox, code) == [True, "d41d8cd98f00b204e9800998ecf8427e"]

    def test_the_clock_runs(self, sandbox: Sandbox) -> None:
        code = """
            import time
            from datetime import datetime
            start = time.monotonic()
            time.sleep(0.05)
            result = [0.04 < time.monotonic() - start < 20, datetime.now().year >= 2024]
        """
        assert result_of(sandbox, code) == [True, True]
