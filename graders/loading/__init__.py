"""Reading tables: bytes or a file become columns in the types of the schema, aligned on the ids, or typed problems."""
