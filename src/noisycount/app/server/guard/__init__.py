"""Who asks: keys, tokens, and the sessions of the page."""
