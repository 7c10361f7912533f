"""Measurements in, something a person reads out."""
