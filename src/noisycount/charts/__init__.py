"""Drawing of results as pictures. Nothing is computed here; begin with `picture` and `chart`."""
