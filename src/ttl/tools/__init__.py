"""Commands on top of everything else."""
