"""What an officer reads: every release, its noise, its purpose, its price."""
