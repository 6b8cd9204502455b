"""From a genome to the text of a program.

A program is put together from the blocks below: each is plain source text, and only those that the genome asks for
are written, so that what stands in a program is what it does. Columns are told apart inside the program, from the
training data, since a task's specification names them but does not type them.
"""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from openmle_env.agents.grammar.families import FAMILIES
from openmle_env.agents.grammar.genome import encode
from openmle_env.agents.grammar.scoring import Goal

if TYPE_CHECKING:
    from openmle_env.agents.grammar.genome import Genome, Model, Origin
    from openmle_env.agents.grammar.layout import Layout


def render(genome: Genome, layout: Layout, origin: Origin) -> str:
    """The program of ``genome`` for the task of ``layout``; its first line remembers both genome and origin."""
    blocks = (
        _head(genome, layout, origin),
        _data(layout),
        _columns(genome),
        _categories(genome),
        _fill(_TEXTS, COMPONENTS=str(genome.features.components)) if genome.features.components else "",
        _matrix(genome),
        _learning(genome, layout),
        _answers(layout),
    )
    return "\n\n".join(block.strip("\n") for block in blocks if block) + "\n"


def _fill(block: str, **values: str) -> str:
    """Put each value where its name stands in a block, in one pass: a column may be called like a name."""
    return re.sub("|".join(values), lambda match: values[match[0]], block)


def _head(genome: Genome, layout: Layout, origin: Origin) -> str:
    features, imports = genome.features, set[tuple[str, str]]()
    for model in genome.models:
        estimator = FAMILIES[model.family].estimator(classifies=layout.classifies)
        imports.add((estimator.module, estimator.name))
        if estimator.calibrated and layout.classifies:
            imports.add(("sklearn.calibration", "CalibratedClassifierCV"))
    if layout.scoring.function:
        imports.add(("sklearn.metrics", layout.scoring.function))
    imports.add(("sklearn.model_selection", "KFold"))
    if layout.classifies:
        imports.add(("sklearn.model_selection", "StratifiedKFold"))
    if _scaled(genome):
        imports.add(("sklearn.preprocessing", "StandardScaler"))
    if features.components:
        imports.add(("sklearn.decomposition", "TruncatedSVD"))
        imports.add(("sklearn.feature_extraction.text", "TfidfVectorizer"))
    imported = "\n".join(
        f"from {module} import {', '.join(name for _, name in names)}"
        for module, names in groupby(sorted(imports), key=itemgetter(0))
    )
    combinations = "from itertools import combinations\n" if features.crosses else ""
    titles = " + ".join(FAMILIES[model.family].title for model in genome.models)
    what = f"{origin.operator}: {titles}" + (f" ({origin.change})" if origin.change else "")
    return f"""
{encode(genome, origin)}
# {what}
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # more threads than CPUs make boosting many times slower

{combinations}from pathlib import Path

import numpy as np
import pandas as pd
{imported}

DATA = Path(os.environ.get("DATA_DIR", "/data"))
OUTPUT = Path(os.environ.get("OUTPUT_DIR", "/output"))
ID = {layout.id!r}
TARGETS = {list(layout.targets)!r}
SEED = {genome.seed}
FOLDS = {genome.folds}
"""


def _data(layout: Layout) -> str:
    return f"""
# --- Data. Ids and answers are read as text, too, so that they are written as they were spelled.
QUESTIONS = {list(layout.questions)!r}


def read(name, **how):
    return pd.read_csv(DATA / name, low_memory=False, **how).rename(columns=str.strip)


def read_text(name, wanted):
    return read(name, usecols=lambda column: column.strip() in wanted, dtype=str, keep_default_na=False)[wanted]


train, test = read("train.csv"), read("test.csv")
ids = read_text({layout.ids_from!r}, [ID])[ID]
answers = read_text("train.csv", QUESTIONS)

columns = [
    name
    for name in train.columns
    if name in test.columns
    and name not in [ID, *QUESTIONS]
    and train[name].notna().any()
    and test[name].notna().any()
]
both = pd.concat([train[columns], test[columns]], ignore_index=True)
"""


def _columns(genome: Genome) -> str:
    genes = genome.features
    number = name = code = text = every = ""
    if genes.logs:
        number += """
        if column.min() >= 0 and column.skew() > 2:
            numbers[f"log {name}"] = np.log1p(column)"""
    if genes.small:
        number += """
        if column.nunique() <= 10:
            categories[name] = column.astype(str)"""
    if genes.missing:
        every += """
    if column.isna().any():
        numbers[f"{name} is missing"] = column.isna()"""
    if genes.lengths:
        text += """
    numbers[f"length of {name}"] = column.str.len()
    numbers[f"words of {name}"] = column.str.split().str.len()"""
    if genes.titles:
        name += """
        categories[f"title in {name}"] = title.fillna("")"""
    if genes.groups or genes.rates:
        name += """
        groups[f"head of {name}"] = column.str.split(",").str[0]"""
        code += """
        groups[name] = column"""
    if genes.prefixes:
        code += """
        categories[f"prefix of {name}"] = column.str.extract(r"^\\s*([A-Za-z])", expand=False).fillna("")"""
    return f"""
# --- Columns: what each one is, and the features that come of it.
HUGE = 1e30  # squares of larger numbers need not be finite
numbers, categories, groups, texts = {{}}, {{}}, {{}}, {{}}
for name in columns:
    column = both[name]{every}
    if pd.api.types.is_numeric_dtype(column):
        column = column.astype(float).replace([np.inf, -np.inf], np.nan).clip(-HUGE, HUGE)
        numbers[name] = column{number}
        continue
    present = column.notna()
    column = column.astype(str).where(present, "")
    if column[present].str.fullmatch(r"\\d{{4}}-\\d\\d-\\d\\d([T ].*)?").all():
        moment = pd.to_datetime(both[name], format="ISO8601", errors="coerce", utc=True)
        for unit in ("year", "month", "day", "day_of_week", "hour"):
            numbers[f"{{unit}} of {{name}}"] = getattr(moment.dt, unit)
        continue
    if column.nunique() <= 25:  # a category
        categories[name] = column
        continue{text}
    title = column.str.extract(r"(\\w+)\\.", expand=False)
    if title.notna().mean() > 0.5 and title.nunique() < len(column) / 20:  # names of people{name or _NOTHING}
    elif column[present].str.split().str.len().mean() >= 3:  # a text
        texts[name] = column
    elif column[present].str.contains(r"\\d").mean() > 0.5:  # a code, such as B52{code or _NOTHING}
    elif column.nunique() > len(column) / 2:  # a single word, different in most rows
        texts[name] = column
    else:  # a category with many values
        categories[name] = column{_GROUP if genes.groups or genes.rates else ""}
"""


_NOTHING = "\n        pass"
_GROUP = """
        groups[name] = column"""


def _categories(genome: Genome) -> str:
    genes = genome.features
    shared = (
        """
groups = {name: key for name, key in groups.items() if key.duplicated().mean() > 0.05}"""
        if genes.groups or genes.rates
        else ""
    )
    sizes = (
        """
for name, key in groups.items():  # rows that belong together
    size = key.map(key.value_counts()).where(key != "", 1)
    numbers[f"rows with {name}"] = size
    for other in columns:
        if other in numbers and both[other].nunique() > 20:
            if both[other][size > 1].groupby(key[size > 1]).nunique().mean() < 1.2:  # one number for all of them
                numbers[f"{other} per {name}"] = both[other] / size"""
        if genes.groups
        else ""
    )
    crosses = (
        """
for left, right in combinations([name for name, values in categories.items() if values.nunique() <= 8], 2):
    categories[f"{left} and {right}"] = categories[left] + " " + categories[right]"""
        if genes.crosses
        else ""
    )
    encode_as = {
        "onehot": """
    for value in sorted(values.unique()):
        numbers[f"{name} is {value}"] = values == value""",
        "ordinal": """
    numbers[f"order of {name}"] = pd.factorize(values, sort=True)[0]""",
        "frequency": """
    numbers[f"frequency of {name}"] = values.map(values.value_counts())""",
    }[genes.categories]
    return f"""{shared}{sizes}
for name, values in categories.items():  # few values each, the rare ones together
    counts = values.value_counts()
    categories[name] = values.where(values.isin(counts[counts >= {genes.rare}].index[:30]), "(rare)"){crosses}
for name, values in categories.items():{encode_as}
"""


_TEXTS = """
# --- Texts: TF-IDF of words (of letters, where each is a single word), reduced to a few components.
for name, text in texts.items():
    analyzer, spans = ("word", (1, 2)) if text.str.split().str.len().mean() > 2 else ("char_wb", (1, 4))
    weights = TfidfVectorizer(analyzer=analyzer, ngram_range=spans, min_df=2, max_features=20000, sublinear_tf=True)
    try:
        matrix = weights.fit_transform(text)
    except ValueError:  # no word stands in two rows
        continue
    if matrix.shape[1] < 2:
        continue
    reduced = TruncatedSVD(min(COMPONENTS, matrix.shape[1] - 1), random_state=SEED).fit_transform(matrix)
    for index in range(reduced.shape[1]):
        numbers[f"component {index} of {name}"] = reduced[:, index]
"""


def _matrix(genome: Genome) -> str:
    keys = (
        """
keys = np.column_stack([pd.factorize(key)[0] for key in groups.values()]) if groups else np.empty((len(both), 0))
KEYS = keys.shape[1]
table = np.hstack([table, keys])  # the last columns; learn() makes means of them"""
        if genome.features.rates
        else ""
    )
    return f"""
# --- One matrix, without gaps and constants.
table = pd.DataFrame(numbers, index=both.index).astype(float)
table = table.replace([np.inf, -np.inf], np.nan).clip(-HUGE, HUGE)
table = table.loc[:, table.nunique() > 1]
table = table.fillna(table.median()).to_numpy(){keys}
X, X_test = table[: len(train)], table[len(train) :]
"""


def _scaled(genome: Genome) -> bool:
    return any(FAMILIES[model.family].scaled for model in genome.models)


def _calibrated(genome: Genome) -> bool:
    return any(FAMILIES[model.family].estimator(classifies=True).calibrated for model in genome.models)


def _model(model: Model, layout: Layout) -> str:
    estimator = FAMILIES[model.family].estimator(classifies=layout.classifies)
    arguments = [
        f"{name}=min({value!r}, len(y))" if name in estimator.up_to_rows else f"{name}={value!r}"
        for name, value in model.parameters
    ]
    if estimator.weighs_classes and layout.classifies and layout.scoring.balanced:
        arguments.append('class_weight="balanced"')
    if estimator.fixed:
        arguments.append(estimator.fixed)
    text = f"{estimator.name}({', '.join(arguments)})"
    if estimator.calibrated and layout.classifies:  # turns distances into probabilities
        return f"CalibratedClassifierCV({text}, ensemble=False, cv=3)"
    return text


def _learning(genome: Genome, layout: Layout) -> str:
    rates = _RATES if genome.features.rates else ""
    scale = (
        """
    scaler = StandardScaler().fit(X)
    X, X_new = scaler.transform(X), scaler.transform(X_new)"""
        if _scaled(genome)
        else ""
    )
    one_hot = "(y[:, None] == np.unique(y)[1:]).astype(float)" if layout.classifies else "y[:, None]"
    means = _fill(_MEANS, TABLE=one_hot).lstrip() if genome.features.rates else ""
    cap = (
        f"""
    if len(y) > {genome.rows}:  # a sample, to be done in time
        some = np.random.default_rng(SEED).choice(len(y), {genome.rows}, replace=False)
        X, y = X[some], y[some]"""
        if genome.rows
        else ""
    )
    models = ",\n        ".join(_model(model, layout) for model in genome.models)
    block = _LEARN_CLASSES if layout.classifies else _LEARN_NUMBERS
    repeat = _REPEAT if layout.classifies and _calibrated(genome) else ""
    learn = _fill(block, CAP=cap, RATES=rates, REPEAT=repeat, SCALE=scale, MODELS=models)
    return f"""
# --- Learning.
{means}{learn.lstrip()}

def score(truth, guess{", classes" if layout.classifies else ""}):
    return {layout.scoring.expression}
"""


# Where no row differs from another, models would fail or divide by zero: all that can be said is the same for each.
_LEARN_CLASSES = """
def learn(X, y, X_new, width):
    \"\"\"Fit the models on some rows; return the mean probabilities, of ``width`` classes, of others.\"\"\"CAPRATES
    found, counts = np.unique(y, return_counts=True)
    result = np.zeros((len(X_new), width))
    result[:, found] = counts / len(y)
    if len(found) < 2 or not np.ptp(X, axis=0).any():  # nothing to learn, or to learn it from
        return resultREPEATSCALE
    models = [
        MODELS,
    ]
    result[:, found] = np.mean([model.fit(X, y).predict_proba(X_new) for model in models], axis=0)
    return result
"""

_LEARN_NUMBERS = """
def learn(X, y, X_new):
    \"\"\"Fit the models on some rows; return the mean numbers that they predict for others.\"\"\"CAPRATES
    if len(np.unique(y)) < 2 or not np.ptp(X, axis=0).any():  # nothing to learn, or to learn it from
        return np.full(len(X_new), y.mean())SCALE
    models = [
        MODELS,
    ]
    return np.mean([model.fit(X, y).predict(X_new) for model in models], axis=0)
"""

_REPEAT = """
    times = -(-3 // np.bincount(y)[y])  # calibration takes three rows of each class
    X, y = np.repeat(X, times, axis=0), np.repeat(y, times)"""


_MEANS = """
def means(key, answer, key_new):
    \"\"\"Mean answer of the rows with a key, drawn to the mean of all where those are few.\"\"\"
    total, count = np.zeros((len(both), answer.shape[1])), np.zeros((len(both), 1))
    np.add.at(total, key, answer)
    np.add.at(count, key, 1)
    return ((total + answer.mean(axis=0)) / (count + 1))[key_new]


def with_means(X, y, X_new):
    \"\"\"Replace the keys in the last columns by means, those of a row being made without the row's own fold.\"\"\"
    answer = TABLE
    parts, parts_new = [X[:, :-KEYS]], [X_new[:, :-KEYS]]
    for key, key_new in zip(X[:, -KEYS:].T.astype(int), X_new[:, -KEYS:].T.astype(int)):
        own = np.zeros(answer.shape)
        for fit, held in KFold(min(10, len(key)), shuffle=True, random_state=SEED).split(key):
            own[held] = means(key[fit], answer[fit], key[held])
        parts.append(own)
        parts_new.append(means(key, answer, key_new))
    return np.hstack(parts), np.hstack(parts_new)


"""

_RATES = """
    if KEYS and len(y) > 1:
        X, X_new = with_means(X, y, X_new)"""


def _answers(layout: Layout) -> str:
    body = _CLASSES if layout.classifies else _NUMBERS
    guess = "classes[held_out.argmax(axis=1)]" if layout.scoring.goal is Goal.LABELS else "held_out"
    write = {
        Goal.LABELS: "submission[target] = classes[predicted.argmax(axis=1)]",
        Goal.PROBABILITIES: """no = {"0", "0.0", "false", "f", "no", "n"}
    submission[target] = 0.0 if len(classes) == 1 and classes[0].lower() in no else predicted[:, -1]""",
        Goal.SHARES: """for name in TARGETS:
        found = [index for index, value in enumerate(classes) if name == value or name.endswith("_" + value)]
        submission[name] = predicted[:, found[0]] if found else 0.0""",
        Goal.NUMBERS: "submission[target] = predicted",
    }[layout.goal]
    if layout.goal is Goal.NUMBERS and layout.whole:
        write = f"""whole = target in {sorted(layout.whole)!r}
    submission[target] = [int(value) for value in predicted.round()] if whole else predicted"""
    note = f"print('The task has another metric; this is {layout.scoring.name}.')\n" if layout.stands_in else ""
    scale = (
        "forward, backward = np.log1p, np.expm1" if layout.scoring.logarithmic else "forward = backward = np.asarray"
    )
    body = _fill(body, GUESS=guess, SCALE=scale)
    return f"""{body.rstrip()}
    {write}

OUTPUT.mkdir(parents=True, exist_ok=True)
submission[[ID, *TARGETS]].to_csv(OUTPUT / "submission.csv", index=False)
{note}print(f"{{FOLDS}} folds, {{X.shape[1]}} features, scores: {{', '.join(f'{{value:.5g}}' for value in scores)}}")
print(f"Final Validation Score: {{np.mean(scores):.6f}}")
"""


_CLASSES = """
# --- Cross-validation, then all rows.
submission, scores = pd.DataFrame({ID: ids}), []
for target in QUESTIONS:
    known = (answers[target] != "").to_numpy()
    rows, labels = X[known], answers[target].to_numpy()[known].astype(str)
    classes, y, counts = np.unique(labels, return_inverse=True, return_counts=True)  # learn() sees numbers
    folds = min(FOLDS, len(y))
    splitter = StratifiedKFold if counts.min() >= folds else KFold
    held_out = np.zeros((len(y), len(classes)))
    if len(classes) > 1:
        for fit, check in splitter(folds, shuffle=True, random_state=SEED).split(rows, y):
            held_out[check] = learn(rows[fit], y[fit], rows[check], len(classes))
    # One class alone leaves nothing to tell apart.
    scores.append(score(labels, GUESS, classes) if len(classes) > 1 else np.nan)
    predicted = learn(rows, y, X_test, len(classes))
"""

_NUMBERS = """
# --- Cross-validation, then all rows. Answers are brought to one scale, and predictions kept inside their range.
SCALE
submission, scores = pd.DataFrame({ID: ids}), []
for target in QUESTIONS:
    y = pd.to_numeric(answers[target], errors="coerce").to_numpy()
    known = np.isfinite(y)
    rows, y = X[known], y[known]
    unit = np.abs(forward(y)).max() or 1.0  # first, so that squares of large numbers stay finite
    center, spread = (forward(y) / unit).mean(), (forward(y) / unit).std() or 1.0
    z = (forward(y) / unit - center) / spread
    held_out, folds = np.zeros(len(y)), min(FOLDS, len(y))
    if folds > 1:
        for fit, check in KFold(folds, shuffle=True, random_state=SEED).split(rows):
            held_out[check] = learn(rows[fit], z[fit], rows[check])
    held_out = backward((held_out * spread + center) * unit).clip(y.min(), y.max())
    scores.append(score(y, held_out) if folds > 1 else np.nan)  # one row: nothing to check
    predicted = backward((learn(rows, z, X_test) * spread + center) * unit).clip(y.min(), y.max())
"""
