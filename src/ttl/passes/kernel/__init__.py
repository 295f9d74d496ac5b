"""Calls of the chip, then C++."""
