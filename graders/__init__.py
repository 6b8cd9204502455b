"""Graders: reading submissions, checking them, metrics, and the grade on a part of the hidden answers."""
