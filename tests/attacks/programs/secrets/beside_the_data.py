# tries: to reach the hidden answers, which lie beside the public folder on the host, by paths around /data
# expect: success
# holds: stdout has DENIED
# control: plain
import os

data = os.environ["DATA_DIR"]
guesses = [f"{data}/../private/test_answer.csv", f"{data}/../private", f"{data}/../../private", f"{data}/private"]
guesses += [f"/proc/self/cwd/../../{data}/../private", f"/proc/self/root/{os.environ['ATTACK_FOLDER']}/private"]
guesses += [f"{os.environ['ATTACK_FOLDER']}/private/test_answer.csv"]
descriptor = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
for path in guesses:
    try:
        os.stat(path)
        print("LEAK: there is", path)
    except FileNotFoundError:
        print("DENIED:", path)
for path in ("../private/test_answer.csv", "../private"):
    try:
        os.stat(path, dir_fd=descriptor)
        print("LEAK: there is", path, "below the descriptor of the data")
    except FileNotFoundError:
        print("DENIED:", path)
