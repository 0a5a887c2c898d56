"""Cells that are independent draws of one law, where no tree adds them up."""
