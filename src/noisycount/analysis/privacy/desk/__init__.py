"""What a desk may promise about all the answers that it gave."""
