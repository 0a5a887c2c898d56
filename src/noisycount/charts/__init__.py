"""Drawing of results as charts, with Altair or as SVG text. Nothing is computed here; begin with `chart`."""
