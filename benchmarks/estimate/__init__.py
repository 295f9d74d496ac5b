"""Estimates against published measurements."""
