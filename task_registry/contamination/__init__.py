"""Keeping the tasks of public benchmarks out of what is built for training: by name, and by content."""
