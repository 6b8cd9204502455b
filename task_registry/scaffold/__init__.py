"""``openmle pack new``: a task pack that can be prepared at once, made from a CSV file or from made-up data."""
