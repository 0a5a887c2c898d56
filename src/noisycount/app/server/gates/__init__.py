"""What every request passes before it is looked at: too large, too deep, too many."""
