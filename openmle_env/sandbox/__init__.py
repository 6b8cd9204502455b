"""Running a program in isolation: one protocol, several backends, none without isolation."""
