"""Records of several known rates, and the law of their sum."""
