"""How far a number can be trusted."""
