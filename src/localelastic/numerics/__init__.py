"""Raw arrays in, raw arrays out: what is worth compiling."""
