"""Broken input for every importer: `make fuzz SECONDS=20`. What it finds is kept in `.fuzz`; runs add up."""
