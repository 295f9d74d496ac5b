"""Passes from chip calls to C++."""
