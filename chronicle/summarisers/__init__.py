"""Summarisers: one protocol; `outline` works offline and invents no word."""
