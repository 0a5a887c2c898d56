"""The figures of papers again, exactly, and simulations that check them."""
