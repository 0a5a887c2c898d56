"""Laws of noise, a file each."""
