"""Words and numbers on a screen."""
