"""The language server: what editors show of a program while it is written."""
