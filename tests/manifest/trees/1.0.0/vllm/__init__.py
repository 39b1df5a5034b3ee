"""A made-up package: an earlier and a later release of it stand side by side."""
