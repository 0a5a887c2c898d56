"""Experiments and pictures built on analysis."""
