"""One phoneme for each letter, always the same one: what the letter most often stands for."""

import pandas as pd

SOUNDS = {
    "a": "AE", "b": "B", "c": "K", "d": "D", "e": "EH", "f": "F", "g": "G", "h": "HH", "i": "IH",
    "j": "JH", "k": "K", "l": "L", "m": "M", "n": "N", "o": "AA", "p": "P", "q": "K", "r": "R",
    "s": "S", "t": "T", "u": "AH", "v": "V", "w": "W", "x": "K", "y": "IY", "z": "Z",
}  # fmt: skip


def pronounce(word: str) -> str:
    """Phonemes between blanks; a letter that follows itself is silent."""
    return " ".join(SOUNDS[letter] for letter, before in zip(word, " " + word, strict=False) if letter != before)


def errors(said: list[str], right: list[str]) -> int:
    """Insertions, deletions and replacements that lead from one to the other."""
    row = list(range(len(right) + 1))
    for done, phoneme in enumerate(said, start=1):
        corner, row[0] = row[0], done
        for at, wanted in enumerate(right, start=1):
            corner, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, corner + (phoneme != wanted))
    return row[-1]


train = pd.read_csv("/data/train.csv", keep_default_na=False)
test = pd.read_csv("/data/test.csv", keep_default_na=False)

submission = pd.DataFrame({"word_id": test["word_id"], "phonemes": test["word"].map(pronounce)})
submission.to_csv("/output/submission.csv", index=False)

hold = train.iloc[::20]
wrong = sum(errors(pronounce(w).split(), p.split()) for w, p in zip(hold["word"], hold["phonemes"], strict=True))
print(f"Final Validation Score: {wrong / hold['phonemes'].str.split().str.len().sum():.4f}")
