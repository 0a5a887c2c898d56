"""What an owner wrote down: noisycount.toml."""
