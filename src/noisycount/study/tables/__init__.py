"""What refining a table is worth: rivals, a simulation, and what it measured."""
