"""Tasks that a command and the service share: each has its result, its words, its JSON and its picture."""
