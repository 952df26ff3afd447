"""Faults: real processes, killed and stopped, on real databases."""
