"""Kaggle through its own client, which only ever runs in a process of its own."""
