"""Compares estimates with published measurements."""
