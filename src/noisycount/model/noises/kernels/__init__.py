"""What a continuous noise and its discrete sibling have in common."""
