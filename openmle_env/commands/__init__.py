"""The subcommands of ``openmle``, one module each. Whatever is slow to import is imported when a command runs."""
