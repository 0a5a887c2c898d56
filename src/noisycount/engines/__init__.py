"""Engines that count records: one interface, and a folder for each engine."""
