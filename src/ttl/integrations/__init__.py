"""Roads from other systems: each imports what is heavy only when it is used."""
