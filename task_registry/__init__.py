"""Task packs: their format, the built-in ones, and what turns a pack into a task that can be played."""
