"""What was asked, what it cost, and what was answered, for ever."""
