"""Data files of the program: catalogue, icons, themes, schemas. Read through importlib.resources."""
