"""The pages of the capstones."""
