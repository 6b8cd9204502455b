"""Tasks as Gymnasium environments: one, a vector of them, and what records their episodes."""
