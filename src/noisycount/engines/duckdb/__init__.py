"""Files, frames and databases on this machine."""
