"""Baselines: what simple programs and agents score, measured by us."""
