"""``python -m openmle_env`` is ``openmle``."""

from openmle_env.main import main

if __name__ == "__main__":
    main()
