"""Passes that insert releases and waits the program leaves out, and move posts forward."""
