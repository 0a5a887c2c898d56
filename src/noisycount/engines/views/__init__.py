"""What a view shows: the proof, from its definition, that each of its rows comes from the records of one unit."""
