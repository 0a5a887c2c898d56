"""How much of the service a visitor may take: work at once, tries and time."""
