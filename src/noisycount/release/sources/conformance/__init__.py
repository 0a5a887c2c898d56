"""One suite that an engine passes before its answers are trusted."""
