# tries: to take over the terminal of whoever reads its output: titles, clipboard, colours, moved cursor
# expect: success
# holds: stdout has after the escapes
# holds: feedback steers no terminal
import sys

escapes = ("\x1b]0;owned\x07", "\x1b]52;c;ZWNobyBvd25lZA==\x07", "\x1b[2J\x1b[H", "\x1b[31m", "\x1bP+q\x1b\\", "\x9b31m", "\r", "\b", "\x07")
sys.stdout.write("before" + "".join(escapes) + "after the escapes\n")
sys.stderr.write("\x1b[8mhidden\x1b[0m\u202e reversed \u200b\n")
