"""What a command and the service share: what is computed, its words, its JSON, its picture."""
