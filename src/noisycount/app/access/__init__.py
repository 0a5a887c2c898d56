"""Who may ask by way of a server: keys, roles and grants."""
