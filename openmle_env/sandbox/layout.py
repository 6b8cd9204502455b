"""Where things stand in every box, of whichever backend, and who runs there."""

INSIDE = "/opt/openmle"
"""Where `inside/` stands."""
VENV = "/opt/venv"
"""The virtual environment that holds the libraries."""
PYTHON = f"{VENV}/bin/python"
"""The interpreter that programs and the supervisor run on."""
USER = 10001
"""User and group of everything in a box."""

OF_A_MODULE = {
    "pandas": ("pandas", "pandas.io.formats.csvs"),
    "sklearn": (
        *("sklearn", "sklearn.compose", "sklearn.ensemble", "sklearn.impute", "sklearn.linear_model"),
        *("sklearn.metrics", "sklearn.model_selection", "sklearn.pipeline", "sklearn.preprocessing"),
    ),
}
"""What is imported with a library that imports little by itself."""
