"""Readers of traces: events in JSON, as PyTorch's profiler writes them."""
