"""Laws of a count to an outsider, a file each."""
