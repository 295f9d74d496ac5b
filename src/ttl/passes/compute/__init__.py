"""Passes from block math to tiles, registers and loops."""
