"""What runs inside a box: the supervisor (PID 1) and its child, which becomes the program. Standard library only."""

OUTPUT = "/output"
"""Where a program leaves what is read back."""
PROGRAM_PATH = "/work/program.py"
"""Where its text stands."""
