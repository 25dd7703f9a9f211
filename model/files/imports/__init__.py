"""One module per family of formats that can be read; each has `FORMATS`."""
