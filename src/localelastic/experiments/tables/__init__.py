"""What the tables are made of: one network on one task with one seed, and its scores."""
