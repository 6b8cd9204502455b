# tries: to have a compressed bomb or a pickle opened in place of a table
# expect: success
# graded: submission_invalid
# collects: submission.csv
import gzip
import pickle


class Bomb:
    def __reduce__(self):
        return print, ("LEAK: unpickled",)


with open("/output/submission.csv", "wb") as file:
    file.write(gzip.compress(b"id,y\n" + b"1,0\n" * 100_000) + pickle.dumps(Bomb()))
