"""Files and figures a program leaves: collected, described, capped, and never followed anywhere else."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import pytest

from ringfence.base.errors import InputError
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Job
from ringfence.sandbox.outcome import Artifact, Outcome
from ringfence.testing.jobs import assert_ok, program, script

MAX_ARTIFACTS = 100
MAX_BYTES = 64 << 20

LEAVE = "for name in names: open(name, 'w').close()"
FIT = (
    *("EURUSD=X.csv", "^GSPC.csv", "BRK.B.png", "equity (1).png", "a+b,c@1.5.csv", "_x", "plot.html", "a.svg"),
    *("\u00fcber \u20ac.txt", "\u56fe\u8868.csv", "HEAD.csv", "console.txt", "a..b"),
)
UNFIT = (
    *(".env", "...", "-rf", "~", "+so x", "=ls", "@list", " lead", "trail ", "dot.", "$(id)", "`id`", "a;b", "a&b"),
    *("a|b", "a<b", "a>b", "*", "a?", "[a]", "{a}", "a!b", 'a"b', "a'b", "a\\b", "#a", "a%20b", "data:x", "C:x"),
    *("CON", "nul.csv", "HEAD", "desktop.ini", "x.lnk", "\u2013rf", "\uff04x", "\u2488"),
)


def names(outcome: Outcome) -> list[str]:
    return sorted(artifact.name for artifact in outcome.artifacts)


def only(outcome: Outcome) -> Artifact:
    assert_ok(outcome)
    assert len(outcome.artifacts) == 1, names(outcome)
    return outcome.artifacts[0]


def rejected(outcome: Outcome) -> list[str]:
    assert all(r.reason for r in outcome.rejected_artifacts)
    return sorted(r.name for r in outcome.rejected_artifacts)


class ArtifactBehaviours:
    def test_a_program_that_leaves_nothing_has_no_artifacts(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("x = 1"))
        assert (outcome.artifacts, outcome.rejected_artifacts, outcome.truncated.artifacts) == ((), (), False)

    def test_a_file_left_behind_is_an_artifact(self, sandbox: Sandbox) -> None:
        artifact = only(sandbox.run(script("open('trades.csv', 'w').write('a,b\\n1,2\\n')")))
        content = b"a,b\n1,2\n"
        assert (artifact.name, artifact.bytes, artifact.data) == ("trades.csv", len(content), content)
        assert artifact.sha256 == hashlib.sha256(content).hexdigest()
        assert artifact.path is None

    def test_an_empty_file_is_an_artifact(self, sandbox: Sandbox) -> None:
        artifact = only(sandbox.run(script("open('empty', 'w').close()")))
        assert (artifact.bytes, artifact.data) == (0, b"")

    def test_files_in_folders_keep_their_path(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(
            script("""
            import os
            os.makedirs('out/2024')
            open('out/2024/a.txt', 'w').write('a')
            open('out/b.txt', 'w').write('b')
            """)
        )
        assert_ok(outcome)
        assert names(outcome) == ["out/2024/a.txt", "out/b.txt"]

    def test_names_may_be_unicode(self, sandbox: Sandbox) -> None:
        assert only(sandbox.run(script("open('\u00fcber \u20ac.txt', 'w').close()"))).name == "\u00fcber \u20ac.txt"

    def test_kinds_are_told_by_name(self, sandbox: Sandbox) -> None:
        kinds = {
            "a.csv": "text/csv",
            "b.json": "application/json",
            "c.txt": "text/plain",
            "d.png": "image/png",
            "e": "application/octet-stream",
        }
        outcome = sandbox.run(Job(code="for name in kinds: open(name, 'w').close()", inputs={"kinds": list(kinds)}))
        assert {artifact.name: artifact.mime for artifact in outcome.artifacts} == kinds

    def test_files_outside_the_working_directory_are_not_artifacts(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("open('/tmp/x', 'w').close()\nopen('/dev/shm/y', 'w').close()"))
        assert_ok(outcome)
        assert outcome.artifacts == ()

    def test_a_deleted_file_is_no_artifact(self, sandbox: Sandbox) -> None:
        assert names(sandbox.run(script("import os\nopen('x', 'w').close()\nos.remove('x')"))) == []

    def test_a_given_file_is_an_artifact_only_when_changed(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(
            Job(
                code="open('changed.txt', 'a').write(' and more')\nopen('kept.txt').read()",
                files={"changed.txt": b"some", "kept.txt": b"same"},
            )
        )
        artifact = only(outcome)
        assert (artifact.name, artifact.data) == ("changed.txt", b"some and more")

    def test_artifacts_of_a_failed_program_are_kept(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("open('partial.txt', 'w').write('half')\n1 / 0"))
        assert outcome.status == "error"
        assert names(outcome) == ["partial.txt"]

    def test_an_open_figure_becomes_a_picture(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])"))
        artifact = only(outcome)
        assert (artifact.name, artifact.mime) == ("figure-1.png", "image/png")
        assert artifact.data is not None
        assert artifact.data.startswith(b"\x89PNG\r\n\x1a\n")

    def test_each_open_figure_becomes_a_picture(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(
            script("import matplotlib.pyplot as plt\nplt.figure()\nplt.figure()\nplt.close(plt.figure())")
        )
        assert_ok(outcome)
        assert names(outcome) == ["figure-1.png", "figure-2.png"]

    def test_a_saved_and_closed_figure_is_left_once(self, sandbox: Sandbox) -> None:
        code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('equity.png')\nplt.close()"
        assert only(sandbox.run(script(code))).name == "equity.png"

    def test_artifacts_are_written_where_asked_in_a_directory_of_the_run(
        self, sandbox: Sandbox, tmp_path: Path
    ) -> None:
        target = tmp_path / "artifacts"
        code = "import os\nos.mkdir('sub')\nopen('sub/a.txt', 'w').write('hello')"
        outcome = sandbox.run(Job(code=code, artifacts_dir=target))
        artifact = only(outcome)
        place = target / outcome.run_id
        assert artifact.data is None
        assert artifact.path == str(place / "sub" / "a.txt")
        assert (place / "sub" / "a.txt").read_bytes() == b"hello"
        assert artifact.sha256 == hashlib.sha256(b"hello").hexdigest()
        assert [stat.S_IMODE(p.stat().st_mode) & 0o7033 for p in (place, place / "sub")] == [0o011, 0o011]

    def test_runs_into_one_directory_never_meet(self, sandbox: Sandbox, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("mine")
        (tmp_path / "sub").mkdir()
        code = "import os\nos.mkdir('sub')\nfor name in ('a.txt', 'sub/a.txt'): open(name, 'w').write(text)"
        runs = [sandbox.run(Job(code=code, inputs={"text": t}, artifacts_dir=tmp_path)) for t in ("one", "two")]
        assert (tmp_path / "a.txt").read_text() == "mine"
        assert list((tmp_path / "sub").iterdir()) == []
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["a.txt", "sub", *(run.run_id for run in runs)])
        for run, text in zip(runs, ("one", "two")):
            assert [(tmp_path / run.run_id / name).read_text() for name in names(run)] == [text, text]

    def test_a_run_that_leaves_nothing_makes_no_directory(self, sandbox: Sandbox, tmp_path: Path) -> None:
        outcome = sandbox.run(Job(code="import os\nos.mkdir('sub')\nos.mkfifo('pipe')", artifacts_dir=tmp_path))
        assert (names(outcome), rejected(outcome)) == ([], ["pipe"])
        assert list(tmp_path.iterdir()) == []

    def test_a_link_as_the_artifacts_directory_is_refused(self, sandbox: Sandbox, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        with pytest.raises(InputError, match="symbolic link"):
            sandbox.run(Job(code="open('a', 'w')", artifacts_dir=tmp_path / "link"))
        assert list((tmp_path / "real").iterdir()) == []

    def test_names_that_the_host_would_act_on_are_refused(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(Job(code=LEAVE, inputs={"names": [*FIT, *UNFIT]}))
        assert_ok(outcome)
        told = {r.name: r.reason for r in outcome.rejected_artifacts}
        wrong = [f"refused: {name!r}, {told.get(name)}" for name in FIT if name not in names(outcome)]
        wrong += [f"taken: {name!r}" for name in UNFIT if name in names(outcome)]
        wrong += [f"not told: {name!r}" for name in UNFIT if "its name" not in told.get(name, "")]
        assert not wrong, "\n".join(wrong)

    def test_names_of_a_cell_are_judged_alike(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            first = session.run("open('.env', 'w').close(); open('a;b', 'w').close(); open('fine.csv', 'w').close()")
            assert (names(first), rejected(first)) == (["fine.csv"], [".env", "a;b"])
            second = session.run("open('c', 'w').close()")
            assert (names(second), rejected(second)) == (["c"], [])

    def test_of_names_that_differ_in_capitals_only_one_is_kept(self, sandbox: Sandbox, tmp_path: Path) -> None:
        code = "for name in ('A.csv', 'a.csv', 'caf\u00e9', 'cafe\u0301'): open(name, 'w').write(name)"
        outcome = sandbox.run(Job(code=code, artifacts_dir=tmp_path))
        assert (names(outcome), rejected(outcome)) == (["A.csv", "cafe\u0301"], ["a.csv", "caf\u00e9"])
        assert [(tmp_path / outcome.run_id / name).read_text() for name in names(outcome)] == names(outcome)

    def test_a_given_file_of_any_name_is_refused_only_when_changed(self, sandbox: Sandbox) -> None:
        files = {"S&P 500.csv": b"1", ".settings/a": b"2"}
        outcome = sandbox.run(Job(code="open('S&P 500.csv').read()", files=files))
        assert (names(outcome), rejected(outcome)) == ([], [])
        outcome = sandbox.run(Job(code="open('.settings/a', 'w').write('new')", files=files))
        assert (names(outcome), rejected(outcome)) == ([], [".settings/a"])

    def test_written_artifacts_are_plain_files(self, sandbox: Sandbox, tmp_path: Path) -> None:
        code = "import os\nopen('run.sh', 'w').write('x')\nos.chmod('run.sh', 0o755)"
        artifact = only(sandbox.run(Job(code=code, artifacts_dir=tmp_path)))
        assert artifact.path is not None
        assert Path(artifact.path).stat().st_mode & 0o7111 == 0

    def test_links_are_rejected_and_not_followed(self, sandbox: Sandbox, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.write_text("host secret")
        code = program("""
            import os
            os.symlink(target, 'file-link')
            os.symlink('/etc', 'folder-link')
            os.symlink('real.txt', 'inner-link')
            open('real.txt', 'w').write('mine')
        """)
        outcome = sandbox.run(Job(code=code, inputs={"target": str(secret)}))
        assert only(outcome).name == "real.txt"
        assert rejected(outcome) == ["file-link", "folder-link", "inner-link"]

    def test_a_fifo_is_rejected_and_not_waited_for(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import os\nos.mkfifo('pipe')"))
        assert_ok(outcome)
        assert (names(outcome), rejected(outcome)) == ([], ["pipe"])

    def test_a_socket_is_rejected(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import socket\nsocket.socket(socket.AF_UNIX).bind('door')"))
        assert_ok(outcome)
        assert (names(outcome), rejected(outcome)) == ([], ["door"])

    def test_unreadable_files_do_not_stop_the_others(self, sandbox: Sandbox) -> None:
        # Whether a file of mode 0 can be read depends on who collects; that the answer says so does not.
        code = "import os\nopen('a', 'w').close()\nopen('b', 'w').close()\nos.chmod('a', 0)"
        outcome = sandbox.run(script(code))
        assert_ok(outcome)
        assert sorted(names(outcome) + rejected(outcome)) == ["a", "b"]
        assert "b" in names(outcome)

    def test_the_number_of_artifacts_is_capped(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script(f"for i in range({MAX_ARTIFACTS} + 20): open(f'{{i:03}}', 'w').close()"))
        assert_ok(outcome)
        assert len(outcome.artifacts) == MAX_ARTIFACTS
        assert outcome.truncated.artifacts
        assert outcome.rejected_artifacts

    def test_the_bytes_of_artifacts_are_capped(self, sandbox: Sandbox) -> None:
        code = "for i in range(5):\n    with open(f'{i}', 'wb') as f: f.write(bytes(16 << 20))"
        outcome = sandbox.run(script(code))
        assert_ok(outcome)
        assert sum(artifact.bytes for artifact in outcome.artifacts) <= MAX_BYTES
        assert outcome.truncated.artifacts
        assert outcome.rejected_artifacts
        assert len(outcome.artifacts) + len(outcome.rejected_artifacts) == 5
