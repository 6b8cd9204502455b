"""GPUs for programs: which there are, who has one, whether it was left clean, and how a container is given it.

`leases.take` lends devices host-wide; `payload` turns them into a container's arguments; `survey` says who has what.
Nothing here starts CUDA, and nothing of it costs a machine without GPUs more than a look for ``nvidia-smi``.
"""
