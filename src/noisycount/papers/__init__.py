"""The papers again, exactly, one file a paper."""
