"""What people type, and the value that it stands for."""
