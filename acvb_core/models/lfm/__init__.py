"""Latent feature models: every object has some of a number of binary features, which add up."""
