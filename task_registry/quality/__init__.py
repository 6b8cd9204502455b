"""The quality gate: checks that prove a task pack sound, and a judgement by a model of what no check can tell."""
