"""Token sequences in, packed rows with shared prefixes out; numpy only."""
