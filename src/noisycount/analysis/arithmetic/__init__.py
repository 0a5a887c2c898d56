"""What follows from the laws of two counts, and what an answer tells of a function of a count."""
