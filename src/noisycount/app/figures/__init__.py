"""The papers' figures as files."""
