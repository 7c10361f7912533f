"""Measurements in, tables for a terminal out."""
