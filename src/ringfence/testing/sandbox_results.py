"""What a program leaves in `result`, or hands to `ringfence_result`, arrives as plain JSON values."""

from __future__ import annotations

from ringfence.sandbox import Sandbox, texts
from ringfence.sandbox.job import Job
from ringfence.testing.jobs import result_of, script


def assert_refused(sandbox: Sandbox, code: str) -> None:
    """The program ran, but its result cannot be carried: an error of its own kind that says what to do."""
    outcome = sandbox.run(script(code))
    assert outcome.status == "error", f"{outcome.status}: {outcome.reason}"
    assert outcome.error is not None
    assert outcome.error.type == "ResultError"
    assert outcome.error.message
    assert outcome.exit_code == 70
    assert outcome.result is None


class ResultBehaviours:
    def test_no_result_is_null(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, "x = 1") is None

    def test_an_empty_program_is_ok(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, "") is None

    def test_plain_values_arrive_as_they_are(self, sandbox: Sandbox) -> None:
        got = result_of(sandbox, "result = [None, True, False, 0, -7, 2.5, '', 'text']")
        assert got == [None, True, False, 0, -7, 2.5, "", "text"]
        assert [type(v) for v in got[1:6]] == [bool, bool, int, int, float]

    def test_large_integers_keep_every_digit(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, "result = 2**53 + 1") == 2**53 + 1

    def test_text_keeps_every_character(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, r"result = 'é \u4f60 \U0001f40d \t \n \x00 \"'") == 'é \u4f60 \U0001f40d \t \n \x00 "'

    def test_nested_values_keep_their_shape(self, sandbox: Sandbox) -> None:
        got = result_of(sandbox, "result = {'a': [1, {'b': [[], {}]}], 'c': {'d': None}}")
        assert got == {"a": [1, {"b": [[], {}]}], "c": {"d": None}}

    def test_fifty_levels_are_carried(self, sandbox: Sandbox) -> None:
        got = result_of(sandbox, "result = 1\nfor _ in range(50): result = [result]")
        for _ in range(50):
            (got,) = got
        assert got == 1

    def test_four_megabytes_are_carried(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, "result = 'x' * (4 << 20)") == "x" * (4 << 20)

    def test_tuples_become_lists(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, "result = (1, (2, 3))") == [1, [2, 3]]

    def test_sets_become_sorted_lists(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, "result = [{3, 1, 2}, frozenset('ba')]") == [[1, 2, 3], ["a", "b"]]

    def test_keys_that_are_not_text_become_text(self, sandbox: Sandbox) -> None:
        got = result_of(sandbox, "from datetime import date\nresult = {1: 'a', 2.5: 'b', date(2024, 1, 2): 'c'}")
        assert got == {"1": "a", "2.5": "b", "2024-01-02": "c"}

    def test_nan_and_infinities_become_null(self, sandbox: Sandbox) -> None:
        got = result_of(sandbox, "result = [float('nan'), float('inf'), -float('inf'), {'x': float('nan')}]")
        assert got == [None, None, None, {"x": None}]

    def test_dates_and_times_are_iso_8601(self, sandbox: Sandbox) -> None:
        got = result_of(
            sandbox,
            """
            from datetime import date, datetime, timezone
            moment = datetime(2024, 2, 29, 13, 5)
            result = [date(2024, 2, 29), moment, moment.replace(tzinfo=timezone.utc)]
            """,
        )
        assert got == ["2024-02-29", "2024-02-29T13:05:00", "2024-02-29T13:05:00+00:00"]

    def test_decimals_become_text_with_every_digit(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, "from decimal import Decimal\nresult = Decimal('0.10')") == "0.10"

    def test_numpy_scalars_become_numbers(self, sandbox: Sandbox) -> None:
        got = result_of(
            sandbox,
            """
            import numpy as np
            result = [np.int64(3), np.float32(0.5), np.float64(1.25), np.bool_(True), np.float64('nan')]
            """,
        )
        assert got == [3, 0.5, 1.25, True, None]
        assert got[3] is True

    def test_numpy_arrays_become_nested_lists(self, sandbox: Sandbox) -> None:
        got = result_of(
            sandbox,
            """
            import numpy as np
            result = {'m': np.arange(6).reshape(2, 3), 'f': np.array([1.5, np.nan]), 'e': np.array([])}
            """,
        )
        assert got == {"m": [[0, 1, 2], [3, 4, 5]], "f": [1.5, None], "e": []}

    def test_numpy_datetimes_are_iso_8601(self, sandbox: Sandbox) -> None:
        got = result_of(sandbox, "import numpy as np\nresult = np.array(['2024-01-02', 'NaT'], dtype='datetime64[D]')")
        assert got[0].startswith("2024-01-02")
        assert got[1] is None

    def test_a_frame_with_the_default_index_becomes_records(self, sandbox: Sandbox) -> None:
        got = result_of(sandbox, "import pandas as pd\nresult = pd.DataFrame({'a': [1, 2], 'b': ['x', None]})")
        assert got == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]

    def test_a_frame_with_its_own_index_is_split(self, sandbox: Sandbox) -> None:
        got = result_of(
            sandbox,
            """
            import pandas as pd
            days = pd.date_range('2024-01-01', periods=2)
            result = pd.DataFrame({'close': [1.5, float('nan')], 'volume': [10, 20]}, index=days)
            """,
        )
        assert got["columns"] == ["close", "volume"]
        assert got["data"] == [[1.5, 10], [None, 20]]
        assert [day[:10] for day in got["index"]] == ["2024-01-01", "2024-01-02"]

    def test_a_series_with_the_default_index_becomes_a_list(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, "import pandas as pd\nresult = pd.Series([1.0, None, 3.0])") == [1.0, None, 3.0]

    def test_a_series_with_its_own_index_keeps_it(self, sandbox: Sandbox) -> None:
        got = result_of(sandbox, "import pandas as pd\nresult = pd.Series([1, 2], index=['a', 'b'])")
        assert got == {"index": ["a", "b"], "data": [1, 2]}

    def test_frames_inside_other_values_are_carried(self, sandbox: Sandbox) -> None:
        got = result_of(
            sandbox, "import pandas as pd\nresult = {'t': [pd.DataFrame({'a': [1]}), pd.Timestamp('2024-01-02')]}"
        )
        assert got["t"][0] == [{"a": 1}]
        assert got["t"][1].startswith("2024-01-02T00:00:00")

    def test_the_call_sets_the_result(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, "ringfence_result({'sharpe': 1.5})") == {"sharpe": 1.5}

    def test_the_call_wins_over_the_variable(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, "ringfence_result('called')\nresult = 'assigned'") == "called"

    def test_the_last_call_wins(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, "ringfence_result(1)\nringfence_result(2)") == 2

    def test_the_result_survives_a_clean_exit(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, "import sys\nresult = 'kept'\nsys.exit(0)") == "kept"

    def test_a_printed_result_is_only_output(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("""print('{"status": "ok", "result": 1}'); result = 2"""))
        assert outcome.result == 2
        assert '"result": 1' in outcome.stdout

    def test_an_object_is_refused(self, sandbox: Sandbox) -> None:
        assert_refused(sandbox, "result = object()")

    def test_a_function_deep_inside_is_refused(self, sandbox: Sandbox) -> None:
        assert_refused(sandbox, "result = {'a': [1, {'b': print}]}")

    def test_bytes_are_refused(self, sandbox: Sandbox) -> None:
        assert_refused(sandbox, "result = b'raw'")

    def test_a_key_that_cannot_be_text_is_refused(self, sandbox: Sandbox) -> None:
        assert_refused(sandbox, "result = {(1, 2): 3}")

    def test_a_result_that_is_too_deep_is_refused(self, sandbox: Sandbox) -> None:
        assert_refused(sandbox, "result = 1\nfor _ in range(200): result = [result]")

    def test_a_result_that_holds_itself_is_refused(self, sandbox: Sandbox) -> None:
        assert_refused(sandbox, "result = []\nresult.append(result)")

    def test_a_result_that_is_too_large_is_refused(self, sandbox: Sandbox) -> None:
        assert_refused(sandbox, "result = 'x' * (9 << 20)")

    def test_ten_thousand_records_are_carried(self, sandbox: Sandbox) -> None:
        got = result_of(
            sandbox,
            "result = [{'day': str(i), 'open': i / 3, 'close': i / 7, 'volume': i * 1000} for i in range(10_000)]",
        )
        assert len(got) == 10_000
        assert got[-1] == {"day": "9999", "open": 9999 / 3, "close": 9999 / 7, "volume": 9_999_000}

    def test_a_long_text_that_is_not_ascii_is_carried(self, sandbox: Sandbox) -> None:
        assert result_of(sandbox, r"result = '\u4f60\U0001f40d' * 200_000") == "\u4f60\U0001f40d" * 200_000

    def test_a_result_that_would_fill_the_hosts_memory_is_refused(self, sandbox: Sandbox) -> None:
        """Three bytes a list on the way, ninety in memory."""
        assert_refused(sandbox, "result = [[]] * 500_000")

    def test_a_forged_report_that_would_fill_the_hosts_memory_is_refused(self, sandbox: Sandbox) -> None:
        code = """
            import os
            body = b'{"v":1,"end":"ok","error":null,"exit_code":0,"result":[' + b"[]," * 500_000 + b"0]}"
            frame = memoryview(len(body).to_bytes(4, "big") + body)
            try:
                while frame:
                    frame = frame[os.write(3, frame):]
            except OSError:
                pass  # nobody reads on
            os._exit(0)
        """
        outcome = sandbox.run(script(code))
        assert (outcome.status, outcome.result, outcome.exit_code) == ("error", None, 0)
        assert outcome.error is not None and outcome.error.type == "ResultError"
        assert "too many values" in outcome.error.message

    def test_output_is_kept_when_the_result_is_refused(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("print('worked until here')\nresult = object()"))
        assert outcome.status == "error"
        assert outcome.stdout == "worked until here\n"

    def test_a_text_is_looked_at_and_not_run(self, sandbox: Sandbox) -> None:
        text = "open('ran', 'w').close()\nfrom ringfence import Strategy\nclass A(Strategy):\n    n = 5\n"
        seen = texts.check(f"Look:\n```python\n{text}    def next(self): pass\n```\n", name="a", sandbox=sandbox)
        assert seen.draft is not None and seen.draft.class_name == "A"
        assert [(p.name, p.default) for p in seen.draft.parameters] == [("n", 5)]
        assert "RF101" in {finding.code for finding in seen.findings}
        job = Job(code=text, driver="text", task={"what": "reply", "name": "a", "class_name": None, "given": {}})
        outcome = sandbox.run(job)
        assert (outcome.status, outcome.artifacts) == ("ok", ())
