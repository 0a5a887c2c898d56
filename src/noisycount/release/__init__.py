"""A true count becomes a published answer."""
