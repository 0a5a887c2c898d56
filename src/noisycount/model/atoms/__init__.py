"""What several questions can tell apart of a record."""
