"""What runs inside a box: the supervisor (PID 1) and its child, which becomes the program. Standard library only."""
