"""Traces of events in JSON, as PyTorch's profiler writes them."""
