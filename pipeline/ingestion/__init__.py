"""Ingests sources into the warehouse, several at once, each as one run."""
