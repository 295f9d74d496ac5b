"""Measures the cost and the gain of tuning."""
