"""The endpoints under /v1."""
