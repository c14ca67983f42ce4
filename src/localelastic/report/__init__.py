"""Result records, and their rendering for people."""
