"""The density of a sum of noises, by inversion of its transform."""
