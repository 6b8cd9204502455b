"""A task that is ready to be played: its specification, its files and its grader."""

from __future__ import annotations

import base64
import os
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env import settings
from openmle_env.errors import PackError
from openmle_env.graders.private_log import PrivateLog
from openmle_env.task_registry.folder import SAMPLE
from openmle_env.task_registry.gold import gold_submission
from openmle_env.task_registry.grading import leaderboard, make_grader, private_log
from openmle_env.types import MAX_PROGRAM_CHARACTERS

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.graders.grader import Grader
    from openmle_env.graders.medals import Leaderboard
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.folder import Pack
    from openmle_env.task_registry.pack import Submission
    from openmle_env.types import TaskSpec

_ORACLE = '''\
"""Writes the right answers, which it carries. Only tests have such a program."""
import base64
import zlib

ANSWERS = """
{answers}
"""
with open("/output/submission.csv", "wb") as file:
    file.write(zlib.decompress(base64.b85decode(ANSWERS.replace("\\n", ""))))
'''
_BROKEN = '''\
"""Known to be wrong: writes a header and no rows."""
with open("/output/submission.csv", "w", encoding="utf-8") as file:
    file.write({header!r})
'''
_LINE = 100

LOOKS = "looks.jsonl"
"""The log of looks at hidden answers, below the setting ``OPENMLE_HOME``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A prepared and verified task."""

    spec: TaskSpec
    """All that an agent may know."""
    pack: Pack
    """The pack it was made from."""
    public: Path
    """Folder that programs see as ``/data``."""
    answers: Path
    """File with the hidden answers. Never mounted where a program runs."""
    submission: Submission
    """Columns of a submission."""

    def grader(self, sandbox: Sandbox) -> Grader:
        """A new grader, whose count of looks starts at zero; a pack's own metric runs in ``sandbox``.

        Each look is written to `LOOKS`, unless nothing can be written there: prepared tasks may lie on a disk that
        nobody can write, and the looks are counted still. What the metric says where it fails goes to
        `openmle_env.task_registry.grading.private_log`.
        """
        home = settings.load().home
        return make_grader(
            self.pack,
            self.submission,
            self.answers,
            lambda: sandbox,
            higher_is_better=self.spec.higher_is_better,
            looks_log=home / LOOKS if os.access(home, os.W_OK | os.X_OK) else None,
            details=PrivateLog(private_log(self.answers)),
        )

    @property
    def leaderboard(self) -> Leaderboard | None:
        """Where final scores are placed; None where the task has no board.

        Raises:
            PackError: Its file cannot be used.
        """
        return leaderboard(self.pack, self.spec.higher_is_better)

    def _gold(self) -> bytes:
        sample = self.public / SAMPLE.removeprefix("public/")
        return gold_submission(self.pack.config.metric, self.spec.submission, self.answers, sample)

    def oracle_program(self) -> str:
        """A program that writes the right answers, which it carries: for tests only. It reads no file.

        Raises:
            PackError: The answers are too many for a program.
        """
        packed = base64.b85encode(zlib.compress(self._gold(), 9)).decode()
        lines = "\n".join(packed[start : start + _LINE] for start in range(0, len(packed), _LINE))
        program = _ORACLE.format(answers=lines)
        if len(program) > MAX_PROGRAM_CHARACTERS:
            raise PackError(
                f"{self.spec.slug}: the answers are too many for an oracle program "
                f"({len(program):,} of {MAX_PROGRAM_CHARACTERS:,} characters)."
            )
        return program

    def broken_program(self) -> str:
        """A program that is known to be wrong: the pack's own, or one that writes a header and no rows."""
        broken = self.pack.config.broken
        if broken is not None:
            return self.pack.text(broken.program)
        return _BROKEN.format(header=",".join(self.spec.submission.columns) + "\n")
