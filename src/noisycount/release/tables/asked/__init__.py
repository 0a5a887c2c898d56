"""What a wish for a table means for the records, with its noise: by cells, keys or questions."""
