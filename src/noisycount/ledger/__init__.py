"""What was asked, what it cost, what was answered, for ever."""
