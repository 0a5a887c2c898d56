"""What is random: populations, mechanisms, noise, and exact sampling."""
