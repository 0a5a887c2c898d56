"""The suite that every engine passes."""
