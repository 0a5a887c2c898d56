"""Questions about a population and a mechanism."""
