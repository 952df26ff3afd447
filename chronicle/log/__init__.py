"""The log: the only door in for events."""
