"""Take one gradient step on one example: how does every other prediction move?"""
