"""Importers: one file a format, behind one protocol."""
