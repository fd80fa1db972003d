"""What attempts made, looked at and decided about: differences, merges, files brought back, directories cleared."""
