"""Tables and figures of results; needs no JAX."""
