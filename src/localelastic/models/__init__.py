"""The networks of the paper, predictions, losses and warm-up training."""
