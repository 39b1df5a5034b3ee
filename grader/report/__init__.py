"""How things are shown to a person; nothing here decides anything."""
