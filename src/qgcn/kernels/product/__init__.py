"""Sparse products: ``cpu.py`` is C++."""
