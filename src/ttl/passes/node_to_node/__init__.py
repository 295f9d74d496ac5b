"""Passes for pipes and semaphores: the words that nodes signal each other with, and the calls."""
