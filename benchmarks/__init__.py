"""Benchmarks. The file also keeps a package of the same name elsewhere from winning."""
