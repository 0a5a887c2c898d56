"""Privacy loss: the effect of one record on the distribution of the answer."""
