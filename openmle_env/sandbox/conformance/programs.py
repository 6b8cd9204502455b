"""Twelve programs whose statuses must be the same everywhere; they run on titanic, too, whose columns are the same."""

from __future__ import annotations

from dataclasses import replace

from openmle_env.sandbox.conformance.cases import LIMITS, WRITE, Case
from openmle_env.types import ResultStatus

PROGRAMS = (
    Case(
        name="good",
        program="""\
import pandas as pd
from sklearn.linear_model import LogisticRegression

train, test = pd.read_csv("/data/train.csv"), pd.read_csv("/data/test.csv")
known, asked = (pd.get_dummies(table[["Sex", "Age"]].fillna(0)) for table in (train, test))
predictions = LogisticRegression(max_iter=1000).fit(known, train["Survived"]).predict(asked)
submission = pd.DataFrame({"PassengerId": test["PassengerId"], "Survived": predictions})
submission.to_csv("/output/submission.csv", index=False)
print("Final Validation Score: 1.0")
""",
        status=ResultStatus.SUCCESS,
        holds=lambda run: (
            run.submission.content.startswith(b"PassengerId,Survived\n21,1\n") and "Score: 1.0" in run.stdout
        ),
    ),
    Case(name="empty", program="\n# nothing here\n", status=ResultStatus.CODE_MISSING),
    Case(
        name="syntax error",
        program="import os\nfor for in range(3):\n    pass\n",
        status=ResultStatus.CODE_EXECUTION_ERROR,
        holds=lambda run: "SyntaxError" in run.reason and "line 2" in run.stderr and "for for" in run.stderr,
    ),
    Case(
        name="exception",
        program="def load():\n    return {}['Fare']\n\nload()\n",
        status=ResultStatus.CODE_EXECUTION_ERROR,
        holds=lambda run: (
            run.reason.endswith("KeyError: 'Fare'")
            and '"/work/program.py", line 2, in load' in run.stderr
            and "return {}['Fare']" in run.stderr
            and "/opt/openmle" not in run.stderr
        ),
    ),
    Case(
        name="exit code 3",
        program=WRITE + "import sys\nsys.exit(3)\n",
        status=ResultStatus.CODE_EXECUTION_ERROR,
        holds=lambda run: run.exit_code == 3,
    ),
    Case(name="no submission", program="print('done')\n", status=ResultStatus.SUBMISSION_MISSING),
    # Contents are the grader's matter: to a sandbox the next two are successes.
    Case(
        name="wrong columns",
        program="open('/output/submission.csv', 'w').write('id,target\\n21,0\\n')\n",
        status=ResultStatus.SUCCESS,
    ),
    Case(
        name="NaN",
        program="""\
with open("/data/sample_submission.csv") as sample, open("/output/submission.csv", "w") as file:
    file.write(next(sample))
    file.writelines(line.split(",")[0] + ",NaN\\n" for line in sample)
""",
        status=ResultStatus.SUCCESS,
    ),
    Case(
        name="endless loop",
        program="while True:\n    pass\n",
        status=ResultStatus.TIMEOUT,
        limits=replace(LIMITS, wall_seconds=1),
        holds=lambda run: "1 s" in run.reason,
    ),
    Case(
        name="memory bomb",
        program="blocks = []\nwhile True:\n    blocks.append(b'x' * (32 << 20))\n",
        status=ResultStatus.OUT_OF_MEMORY,
        holds=lambda run: "512 MiB" in run.reason and run.oom_kills > 0,
    ),
    Case(
        # Ended by the limit on processes: the call that exceeds it fails, and with it the program.
        name="fork bomb",
        program="import os\nwhile True:\n    os.fork()\n",
        status=ResultStatus.CODE_EXECUTION_ERROR,
        limits=replace(LIMITS, memory_mb=1024),
        holds=lambda run: "BlockingIOError" in run.stderr,
    ),
    Case(
        name="writes into /data",
        program=WRITE + "open('/data/train.csv', 'a').write('21,1,f,30\\n')\n",
        status=ResultStatus.CODE_EXECUTION_ERROR,
        holds=lambda run: "Errno 30" in run.reason or "Errno 13" in run.reason,
    ),
)
