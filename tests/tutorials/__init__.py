"""The tutorials of the public simulator, run as they are."""
