"""Long checks of theorems on large grids: run `make audit`."""
