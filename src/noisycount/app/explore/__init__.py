"""What noise, rate and knowledge do to a count, for sliders: no data set is needed."""
