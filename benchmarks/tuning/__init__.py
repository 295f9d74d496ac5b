"""What tuning costs and what it gains."""
