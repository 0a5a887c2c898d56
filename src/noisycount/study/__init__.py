"""The figures of papers again, exactly, simulations that check them, and what tables are worth."""
