"""The file noisycount.toml."""
