"""How far two laws of an answer differ: the parts of a privacy curve."""
