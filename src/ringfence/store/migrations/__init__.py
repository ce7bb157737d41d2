"""How a database of an earlier ringfence becomes one of this: Alembic scripts, run on opening."""
