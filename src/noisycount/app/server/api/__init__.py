"""The routes for programs, one file a family."""
