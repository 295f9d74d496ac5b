"""Block math to tiles, registers and loops."""
