"""Benchmarks. This file also takes precedence over other packages of this name."""
