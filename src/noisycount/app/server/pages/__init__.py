"""What people see in a browser: pages that need no script, and no other host."""
