"""What people type for an option, and the value that it stands for."""
