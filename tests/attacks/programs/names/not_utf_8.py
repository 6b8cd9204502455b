# tries: to break whoever reads its folders by names that are no text: other bytes, line ends, escapes, spaces
# expect: success
# collects: models/
import os

for place in (b"/output/models", b"/work", b"/tmp", b"/dev/shm"):
    os.makedirs(place, exist_ok=True)
    for name in (b"\xff\xfe", b"line\nend", b"\x1b[31m", b" ", b"-rf", b"\xed\xa0\x80", b"a" * 255, b"$(id)", b"*", b"..."):
        open(place + b"/" + name, "wb").close()
        os.makedirs(place + b"/folder-" + name[:200] + b"/in", exist_ok=True)
