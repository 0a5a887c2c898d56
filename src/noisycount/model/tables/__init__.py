"""Tables of counts: their levels, and how noise is shared among them."""
