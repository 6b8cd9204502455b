"""Task packs out of other collections: OpenMLE packs, MLE-bench's competitions, MLE-Dojo's competitions.

Their code is read as text, never imported here: it runs in a sandbox, as any pack's does.
"""
