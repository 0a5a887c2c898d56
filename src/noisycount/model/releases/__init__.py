"""The noise of counts that others have published, each number with its source."""
