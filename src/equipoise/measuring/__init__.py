"""Outcomes in, Measurements out: every metric for every group, with an interval."""
