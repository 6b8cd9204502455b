"""Evaluation runs over many tasks, agents and seeds, and the boards made of them."""
