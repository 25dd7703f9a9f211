"""One module per family of formats that can be written; each has `FORMATS`."""
