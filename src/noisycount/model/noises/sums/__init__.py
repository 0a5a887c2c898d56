"""Laws of sums of independent noises."""
