"""The desk of records that are opened from Python."""
