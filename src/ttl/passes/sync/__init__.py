"""Releases and waits that the program leaves out, and posts made early."""
